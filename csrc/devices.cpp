// The devices of this build: who allocates on each, and who computes.
#include "batched/backend.h"
#include "cpu/allocator.h"
#include "cpu/backend.h"
#include "meta/backend.h"
#include "sparse/backend.h"

namespace adjoint {

const Allocate allocators[kDeviceTypes] = {cpu::allocate, meta::allocate, batched::allocate, sparse::allocate};

const Backend* const backends[kDeviceTypes] = {&cpu::backend, &meta::backend, &batched::backend, &sparse::backend};

}  // namespace adjoint
