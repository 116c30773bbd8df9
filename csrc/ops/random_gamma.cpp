#include "ops/random_gamma.h"

#include <initializer_list>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"
#include "ops/random.h"

namespace adjoint::ops {
namespace {

void check_type(const char* kernel, const Tensor* tensor) {
  if (tensor->dtype != DType::Float32 && tensor->dtype != DType::Float64) fail_not_implemented(kernel, tensor->dtype);
}

/// The sizes that all of the tensors, of one type, broadcast to.
size_t broadcast_all(const char* kernel, std::initializer_list<Tensor*> tensors, int64_t* sizes) {
  size_t ndim = 0;
  for (Tensor* tensor : tensors) {
    check_type(kernel, tensor);
    if (tensor->dtype != (*tensors.begin())->dtype)
      fail("Found dtype ", info(tensor->dtype).legacy_name, " but expected ",
           info((*tensors.begin())->dtype).legacy_name, "; convert all arguments to one type");
    int64_t before[kMaxDims];
    std::copy(sizes, sizes + ndim, before);
    ndim = static_cast<size_t>(broadcast_sizes({before, ndim}, tensor->sizes(), sizes));
  }
  return ndim;
}

}  // namespace

TensorPtr standard_gamma(Tensor* input, Generator* generator) {
  check_type("gamma_cpu", input);
  TensorPtr result = empty(input->sizes(), input->dtype, input->device);
  copy_into(input, result.get());
  WithoutLock unlocked(result->numel());
  on(result->device).random.gamma(generator_for(generator, result->device), result->view());
  return result;
}

TensorPtr sample_dirichlet(Tensor* input, Generator* generator) {
  check_type("dirichlet", input);
  TensorPtr draws = packed(input, input->sizes());
  if (draws->numel() > 0) {
    WithoutLock unlocked(draws->numel());
    on(draws->device).random.gamma(generator_for(generator, draws->device), draws->view());
    on(draws->device).random.shares(draws->view(), input->ndim() ? input->sizes().back() : 1, input->dtype);
  }
  return cast(draws.get(), input->dtype);
}

TensorPtr standard_gamma_grad(Tensor* input, Tensor* output) {
  int64_t sizes[kMaxDims];
  const size_t ndim = broadcast_all("_standard_gamma_grad_cpu", {input, output}, sizes);
  TensorPtr shapes = packed(input, {sizes, ndim}), draws = packed(output, {sizes, ndim}, output->dtype);
  {
    WithoutLock unlocked(shapes->numel());
    on(shapes->device).random.gamma_slopes(shapes->view(), draws->view());
  }
  return cast(shapes.get(), input->dtype);
}

TensorPtr dirichlet_grad(Tensor* x, Tensor* alpha, Tensor* total) {
  int64_t sizes[kMaxDims];
  const size_t ndim = broadcast_all("_dirichlet_grad_cpu", {x, alpha, total}, sizes);
  TensorPtr draws = packed(x, {sizes, ndim}), firsts = packed(alpha, {sizes, ndim}),
            totals = packed(total, {sizes, ndim});
  {
    WithoutLock unlocked(draws->numel());
    on(draws->device).random.beta_slopes(draws->view(), firsts->view(), totals->view());
  }
  return cast(draws.get(), x->dtype);
}

}  // namespace adjoint::ops
