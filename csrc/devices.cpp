// The devices of this build: who allocates on each, and who computes.
#include <cstring>

#include "batched/backend.h"
#include "cpu/allocator.h"
#include "cpu/backend.h"
#include "cuda/allocator.h"
#include "cuda/backend.h"
#include "cuda/memory.h"
#include "cuda/pinned.h"
#include "cuda/runtime.h"
#include "meta/backend.h"
#include "sparse/backend.h"

namespace adjoint {

const Allocate allocators[kDeviceTypes] = {cpu::allocate, meta::allocate, cuda::allocate, batched::allocate,
                                           sparse::allocate};

const Backend* const backends[kDeviceTypes] = {&cpu::backend, &meta::backend, &cuda::backend, &batched::backend,
                                               &sparse::backend};

const bool work_behind[kDeviceTypes] = {false, false, true, false, false};

// Of all others there is one, always.
static const std::string& nothing() {
  static const std::string text;
  return text;
}
static void copy_here(Device, char* to, const char* from, size_t nbytes) { std::memcpy(to, from, nbytes); }
static void copy_nothing(Device, char*, const char*, size_t) {}
static constexpr DeviceKind kHere = {nothing, [] { return 1; }, [] { return 0; }, copy_here};
static constexpr DeviceKind kSeeming = {nothing, [] { return 1; }, [] { return 0; }, copy_nothing};
static constexpr DeviceKind kCuda = {cuda::why_unavailable, cuda::device_count, cuda::current_device, cuda::copy_bytes,
                                     cuda::allocate_pinned};
const DeviceKind device_kinds[kDeviceTypes] = {kHere, kSeeming, kCuda, kSeeming, kSeeming};

}  // namespace adjoint
