#include "ops/unique.h"

#include <tuple>

#include "core/lock.h"
#include "kernels/backend.h"
#include "ops/memory.h"

namespace adjoint::ops {
namespace {

using Counted = std::tuple<TensorPtr, TensorPtr, TensorPtr>;

TensorPtr row_of(int64_t n, DType dtype, Device device) { return empty(Sizes(&n, 1), dtype, device); }

void check_distinguishable(const char* torch_name, const Tensor* input) {
  if (is_complex(input->dtype))
    fail(ErrorKind::NotImplemented, "\"", torch_name, "\" not implemented for '", info(input->dtype).legacy_name,
         "'; complex numbers have no order: stack their parts and pass dim=");
}

}  // namespace

/// The first places of a row, which had room for more.
static TensorPtr first_of(const Tensor* row, int64_t n) {
  TensorPtr result = row_of(n, row->dtype, row->device);
  on(row->device).memory.copy(row->view(1, &n, row->shape->strides()), result->view());
  return result;
}

Counted unique(Tensor* input, bool return_inverse, bool return_counts, bool consecutive) {
  check_distinguishable(consecutive ? "unique_consecutive" : "unique", input);
  const int64_t n = input->numel();
  const Device device = input->device;
  TensorPtr values = row_of(n, input->dtype, device), counts = row_of(return_counts ? n : 0, DType::Int64, device);
  TensorPtr inverse = return_inverse ? empty(input->sizes(), DType::Int64, device) : row_of(0, DType::Int64, device);
  const View inverse_view = inverse->view(), counts_view = counts->view();
  int64_t distinct;
  {
    WithoutLock unlocked(n);
    distinct =
        on(device).unique.elements(input->view(), consecutive, values->view(), return_inverse ? &inverse_view : nullptr,
                                   return_counts ? &counts_view : nullptr);
  }
  return {first_of(values.get(), distinct), std::move(inverse),
          return_counts ? first_of(counts.get(), distinct) : std::move(counts)};
}

Counted unique_rows(Tensor* input, bool consecutive) {
  if (input->ndim() != 2) fail("unique_rows: expected a matrix; got ", input->ndim(), " dimensions");
  check_distinguishable("unique_dim", input);
  const int64_t n = input->size(0);
  TensorPtr dense = contiguous(input), inverse = row_of(n, DType::Int64, input->device);
  TensorPtr firsts = row_of(n, DType::Int64, input->device), counts = row_of(n, DType::Int64, input->device);
  const int64_t distinct =
      on(input->device).unique.rows(dense->view(), consecutive, firsts->view(), inverse->view(), counts->view());
  return {first_of(firsts.get(), distinct), std::move(inverse), first_of(counts.get(), distinct)};
}

}  // namespace adjoint::ops
