// Kernels that refuse: a sparse tensor reaches them only where nobody has handled the call.
#include "sparse/backend.h"

#include "core/error.h"
#include "kernels/uniform.h"

namespace adjoint::sparse {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorKind::NotImplemented,
       "Could not run this with arguments from the 'SparseCPU' backend: it is not implemented for sparse tensors. Make "
       "them dense with to_dense() first.");
}

struct Refusing {
  template <class Result, class... Args>
  constexpr operator kernels::Function<Result, Args...>() const {
    return [](Args...) -> Result { refuse(); };
  }
};

}  // namespace

Storage* allocate(size_t, Device) { refuse(); }

const Backend backend = kernels::all<Backend>(Refusing());

}  // namespace adjoint::sparse
