#include "ops/grid.h"

#include <algorithm>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using kernels::GridShape;

GridShape grid_shape(Sizes input, const Tensor* grid, const std::optional<Tensor*>& direction, int64_t mode,
                     int64_t padding, bool align_corners) {
  const auto n = static_cast<int>(input.size());
  if (n != 4 && n != 5) fail("grid_sampler(): expected 4D or 5D input; got input with sizes ", to_string(input));
  if (grid->ndim() != n)
    fail("grid_sampler(): expected grid to have as many dimensions as input; got input with sizes ", to_string(input),
         " and grid with sizes ", to_string(grid->sizes()));
  if (input[0] != grid->size(0))
    fail("grid_sampler(): expected grid and input to have same batch size, but got input with sizes ", to_string(input),
         " and grid with sizes ", to_string(grid->sizes()));
  if (grid->size(n - 1) != n - 2)
    fail("grid_sampler(): expected grid to have size ", n - 2, " in last dimension, but got grid with sizes ",
         to_string(grid->sizes()));
  for (size_t d = 2; d < input.size(); ++d)
    if (input[d] == 0)
      fail("grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ",
           to_string(input), " with dimension ", d, " being empty");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2)
    fail("grid_sampler(): expected modes 0, 1 or 2; got interpolation mode ", mode, " and padding mode ", padding);
  if (mode == 2 && n == 5) fail("grid_sampler(): bicubic interpolation only supports 4D input");
  if (!is_float(grid->dtype)) fail_not_implemented("grid_sampler", grid->dtype);
  if (direction && (!same_sizes((*direction)->shape, grid->shape) || (*direction)->dtype != grid->dtype))
    fail("grid_sampler(): expected a direction of the grid's size; got ", to_string((*direction)->sizes()));
  GridShape shape{input[0],
                  input[1],
                  1,
                  n - 2,
                  {1, 1, 1},
                  static_cast<kernels::GridMode>(mode),
                  static_cast<kernels::GridPadding>(padding),
                  align_corners};
  for (int d = 1; d < n - 1; ++d) shape.points *= grid->size(d);
  for (int d = 0; d < n - 2; ++d) shape.size[d] = input[static_cast<size_t>(n - 1 - d)];
  if (shape.plane() > INT32_MAX)
    fail("grid_sampler(): expected at most ", INT32_MAX, " elements in a channel of an image; got input with sizes ",
         to_string(input), "; cut it into parts");
  return shape;
}

void check_same_type(const Tensor* tensor, const Tensor* grid) {
  if (tensor->dtype != grid->dtype)
    fail("grid_sampler(): expected scalar type ", info(tensor->dtype).legacy_name, " but found ",
         info(grid->dtype).legacy_name);
}

void check_grad(const GridShape& shape, const Tensor* grad, const Tensor* grid) {
  check_same_type(grad, grid);
  bool fits = grad->ndim() == grid->ndim() && grad->size(0) == shape.batch && grad->size(1) == shape.channels;
  for (int d = 2; fits && d < grad->ndim(); ++d) fits = grad->size(d) == grid->size(d - 1);
  if (!fits) fail("grid_sampler(): expected a gradient of the result's size; got ", to_string(grad->sizes()));
}

/// The directions of a derivative in the computing type, or none.
struct Direction {
  TensorPtr tensor;
  View view;

  Direction(std::optional<Tensor*> given, DType dtype)
      : tensor(given ? contiguous(*given, dtype) : TensorPtr()), view(tensor ? tensor->view() : View()) {}
  const View* get() const { return tensor ? &view : nullptr; }
};

}  // namespace

TensorPtr grid_sampler(Tensor* input, Tensor* grid, std::optional<Tensor*> direction, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners) {
  GridShape shape = grid_shape(input->sizes(), grid, direction, interpolation_mode, padding_mode, align_corners);
  check_same_type(input, grid);
  const DType compute = compute_type(input->dtype);
  TensorPtr x = contiguous(input, compute), points = contiguous(grid, compute);
  Direction along(direction, compute);
  int64_t sizes[5] = {shape.batch, shape.channels};
  std::copy_n(grid->sizes().begin() + 1, shape.dims, sizes + 2);
  TensorPtr result = empty(Sizes(sizes, static_cast<size_t>(shape.dims) + 2), compute, input->device);
  if (result->numel()) {
    WithoutLock unlocked(result->numel() * 8);
    on(input->device).grid.sample(shape, x->view(), points->view(), along.get(), result->view());
  }
  return cast(result.get(), input->dtype);
}

TensorPtr grid_sampler_input(Tensor* grad, const Ints& size, Tensor* grid, std::optional<Tensor*> direction,
                             int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  GridShape shape = grid_shape(size, grid, direction, interpolation_mode, padding_mode, align_corners);
  check_grad(shape, grad, grid);
  const DType compute = compute_type(grad->dtype);
  TensorPtr g = contiguous(grad, compute), points = contiguous(grid, compute);
  Direction along(direction, compute);
  TensorPtr result = empty(size, compute, grad->device);
  if (result->numel()) {
    WithoutLock unlocked(grad->numel() * 8);
    on(grad->device).grid.image_grad(shape, g->view(), points->view(), along.get(), result->view());
  }
  return cast(result.get(), grad->dtype);
}

TensorPtr grid_sampler_grid(Tensor* grad, Tensor* input, Tensor* grid, std::optional<Tensor*> direction,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  GridShape shape = grid_shape(input->sizes(), grid, direction, interpolation_mode, padding_mode, align_corners);
  check_same_type(input, grid);
  check_grad(shape, grad, grid);
  const DType compute = compute_type(grad->dtype);
  TensorPtr g = contiguous(grad, compute), x = contiguous(input, compute), points = contiguous(grid, compute);
  Direction along(direction, compute);
  TensorPtr result = empty(grid->sizes(), compute, grad->device);
  if (result->numel()) {
    WithoutLock unlocked(grad->numel() * 8);
    on(grad->device).grid.grid_grad(shape, g->view(), x->view(), points->view(), along.get(), result->view());
  }
  return cast(result.get(), grid->dtype);
}

}  // namespace adjoint::ops
