#include "cpu/linalg_batch.h"

#include "cpu/copy.h"

namespace adjoint::cpu {

Columns::Columns(const View& view, int inner) : view_(view), batch_dims_(view.ndim - inner) {
  ld_ =
      inner == 2 && cols_of(view) > 1 ? view.strides[view.ndim - 1] : std::max<Int>(1, inner == 2 ? rows_of(view) : 1);
}

/// What is repeated along the batch is copied once.
Columns Columns::copied(const View& view, int inner) {
  std::vector<int64_t> sizes(view.sizes, view.sizes + view.ndim), strides(view.ndim);
  const int batch = view.ndim - inner;
  int64_t step = 1;
  auto place = [&](int d) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  };
  for (int d = batch; d < view.ndim; ++d) place(d);
  for (int d = batch; d-- > 0;) {
    if (view.strides[d] == 0) sizes[d] = std::min<int64_t>(sizes[d], 1);
    place(d);
    if (view.strides[d] == 0) strides[d] = 0;
  }
  auto memory = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(step * itemsize(view.dtype)));
  View source = view, target = view;
  source.sizes = target.sizes = sizes.data();
  target.data = memory.get();
  target.strides = strides.data();
  copy(source, target);
  target.sizes = view.sizes;
  Columns result(target, inner);
  result.memory_ = std::move(memory);
  result.strides_ = std::move(strides);
  return result;
}

Columns Columns::readable(const View& view) {
  const int64_t rows = rows_of(view), cols = cols_of(view);
  const bool packed = rows <= 1 || view.strides[view.ndim - 2] == 1;
  const bool apart = cols <= 1 || view.strides[view.ndim - 1] >= std::max<int64_t>(rows, 1);
  return packed && apart ? of(view) : copied(view, 2);
}

Columns Columns::vectors(const View& view) {
  const int last = view.ndim - 1;
  const bool packed = view.sizes[last] <= 1 || view.strides[last] == 1;
  return packed ? Columns(view, 1) : copied(view, 1);
}

}  // namespace adjoint::cpu
