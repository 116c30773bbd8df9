// The devices of this build: who allocates on each, and who computes.
#include "batched/backend.h"
#include "cpu/allocator.h"
#include "cpu/backend.h"
#include "cuda/allocator.h"
#include "cuda/backend.h"
#include "cuda/runtime.h"
#include "meta/backend.h"
#include "sparse/backend.h"

namespace adjoint {

const Allocate allocators[kDeviceTypes] = {cpu::allocate, meta::allocate, cuda::allocate, batched::allocate,
                                            sparse::allocate};

const Backend* const backends[kDeviceTypes] = {&cpu::backend, &meta::backend, &cuda::backend, &batched::backend,
                                                   &sparse::backend};

// Of all others there is one, always.
static const std::string& nothing() {
  static const std::string text;
  return text;
}
static constexpr DeviceKind kPresent = {nothing, [] { return 1; }, [] { return 0; }};
const DeviceKind device_kinds[kDeviceTypes] = {
    kPresent, kPresent, {cuda::why_unavailable, cuda::device_count, cuda::current_device}, kPresent, kPresent};

}  // namespace adjoint
