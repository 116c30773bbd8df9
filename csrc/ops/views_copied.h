// What views show in memory of its own, and copies of a tensor with the part that a view shows replaced.
#pragma once

#include <optional>
#include <vector>

#include "core/memory_format.h"
#include "ops/memory.h"
#include "ops/pieces.h"
#include "ops/views.h"

namespace adjoint::ops {

/// The elements in row-major order in new memory.
TensorPtr packed(const Tensor* tensor);
/// A copy in a memory format, by default the input's own.
TensorPtr clone_as(Tensor* input, std::optional<MemoryFormat> memory_format);
/// Writes `src` into `part`, a view of a fresh copy; the sizes must be equal, the types need not be.
void write_part(const Tensor* src, Tensor* part);

inline TensorPtr packed(const TensorPtr& tensor) { return packed(tensor.get()); }
inline std::vector<TensorPtr> packed(std::vector<TensorPtr> tensors) {
  for (TensorPtr& tensor : tensors) tensor = packed(tensor.get());
  return tensors;
}

template <auto kView>
struct ViewFunction;
template <class Result, class... Arguments, Result (*kView)(Tensor*, Arguments...)>
struct ViewFunction<kView> {
  static Result copy(Tensor* input, Arguments... arguments) { return packed(kView(input, arguments...)); }
  static TensorPtr scatter(Tensor* input, Tensor* src, Arguments... arguments) {
    TensorPtr result = clone(input);
    write_part(src, kView(result.get(), arguments...).get());
    return result;
  }
};

/// permute -> permute_copy: what the view shows (or each of several), copied.
template <auto kView>
inline constexpr auto copy_of = &ViewFunction<kView>::copy;
/// select -> select_scatter: a copy of the input with `src` where the view looks.
template <auto kView>
inline constexpr auto scatter_into = &ViewFunction<kView>::scatter;

/// A copy of all of the input's storage, with `src` written in a geometry of it.
TensorPtr as_strided_scatter(Tensor* input, Tensor* src, Ints size, Ints stride, std::optional<int64_t> storage_offset);

/// The last dimension laid along the diagonal of two new ones; zeros elsewhere.
TensorPtr diag_embed(Tensor* input, int64_t offset, int64_t dim1, int64_t dim2);
/// Matrices along the diagonal of one matrix; vectors and numbers count as rows.
TensorPtr block_diag(std::vector<Tensor*> tensors);

}  // namespace adjoint::ops
