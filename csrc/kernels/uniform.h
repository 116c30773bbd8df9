// Tables of kernels that are all one and the same function.
#pragma once

#include <cstddef>
#include <utility>

namespace adjoint::kernels {

template <class Result, class... Args>
using Function = Result (*)(Args...);

/// A table, every function of it the same; `function` becomes whatever function is asked for.
template <class Table, class F>
constexpr Table all(F function) {
  constexpr size_t count = sizeof(Table) / sizeof(void (*)());
  return [&]<size_t... i>(std::index_sequence<i...>) {
    return Table{(static_cast<void>(i), function)...};
  }(std::make_index_sequence<count>());
}

}  // namespace adjoint::kernels
