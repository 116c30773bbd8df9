// Kernels that refuse: a batched tensor reaches them only where no vmap has seen the call.
#include "batched/backend.h"

#include "core/error.h"
#include "kernels/uniform.h"

namespace adjoint::batched {
namespace {

[[noreturn]] void refuse() {
  fail(
      "Either your tensor may have escaped from inside a function being vmapped, or this cannot be computed under "
      "vmap: "
      "a batched tensor has no memory of its own. Return it from the function, and use what vmap gives back.");
}

struct Refusing {
  template <class Result, class... Args>
  constexpr operator kernels::Function<Result, Args...>() const {
    return [](Args...) -> Result { refuse(); };
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

Storage* allocate(size_t) { refuse(); }

const Backend backend = refusing();

}  // namespace adjoint::batched
