// Kernels that refuse: a batched tensor reaches them only where no vmap has seen the call.
#include "batched/backend.h"

#include "core/batched.h"
#include "core/error.h"
#include "kernels/uniform.h"

namespace adjoint::batched {
namespace {

struct Refusing {
  template <class Result, class... Args>
  constexpr operator kernels::Function<Result, Args...>() const {
    return [](Args...) -> Result { refuse_escaped(); };
  }
};

Scalar refuse_item(const View&) {
  fail(
      "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
      "please try to rewrite what you're doing with other operations: it stands for all elements of the batch, which "
      "have no one number.");
}

Backend refusing() {
  auto table = kernels::all<Backend>(Refusing());
  table.memory.read = refuse_item;
  return table;
}

}  // namespace

Storage* allocate(size_t, Device) { refuse_escaped(); }

const Backend backend = refusing();

}  // namespace adjoint::batched
