#include "ops/selection.h"

#include <algorithm>

#include "core/lock.h"
#include "core/memory_format.h"
#include "kernels/backend.h"
#include "ops/elementwise.h"
#include "ops/memory.h"
#include "ops/numbers.h"
#include "ops/views.h"

namespace adjoint::ops {
namespace {

/// The sizes that tensors broadcast to.
class CommonSizes {
 public:
  void add(Sizes sizes) {
    int64_t joined[kMaxDims];
    count_ = broadcast_sizes({sizes_, static_cast<size_t>(count_)}, sizes, joined);
    std::copy(joined, joined + count_, sizes_);
  }
  operator Sizes() const { return {sizes_, static_cast<size_t>(count_)}; }

 private:
  int64_t sizes_[kMaxDims];
  int count_ = 0;
};

/// A raw view of a tensor (or one element) repeated to some sizes.
class Expanded {
 public:
  Expanded(const Tensor* tensor, Sizes sizes) : view_(expanded_view(tensor, sizes, strides_)) {}
  Expanded(const Element& element, DType dtype, Sizes sizes)
      : view_{static_cast<char*>(const_cast<void*>(element.get())), dtype, static_cast<int>(sizes.size()), sizes.data(),
              strides_} {
    std::fill(strides_, strides_ + sizes.size(), 0);
  }
  Expanded(const Expanded&) = delete;
  const View& operator*() const { return view_; }

 private:
  int64_t strides_[kMaxDims];
  View view_;
};

/// A source of `where` for a device; a 0-d tensor on the CPU goes with any other, as a number.
Value source_for(const Value& value, Device device) {
  if (value.is_number() || value.tensor->device == device || device == DeviceType::Meta) return value;
  if (value.tensor->ndim() > 0 || value.tensor->device != DeviceType::Cpu)
    refuse_devices("where", value.tensor->device, device);
  return number_in(value.tensor);
}

/// One of the two sources of `where`: a tensor in the result's type, or an element.
class Source {
 public:
  Source(const Value& value, DType dtype)
      : tensor_(value.is_number() ? TensorPtr() : cast(value.tensor, dtype)),
        // What is too large for half types becomes infinite.
        element_(value.is_number() ? value.number : Scalar(), dtype,
                 is_float(dtype) && itemsize(dtype) == 2 ? DType::Float64 : dtype),
        dtype_(dtype) {}
  Expanded expanded(Sizes sizes) const {
    return tensor_ ? Expanded(tensor_.get(), sizes) : Expanded(element_, dtype_, sizes);
  }

 private:
  TensorPtr tensor_;
  Element element_;
  DType dtype_;
};

Operand operand_of(const Value& value) {
  Operand operand;
  if (value.is_number()) {
    operand.set(value.number);
  } else {
    operand.set(value.tensor);
  }
  return operand;
}

void check_mask(const char* op, const Tensor* mask) {
  if (mask->dtype != DType::Bool)
    fail(op, "_ only supports boolean masks, but got mask with dtype ", info(mask->dtype).legacy_name,
         "; convert it with .bool()");
}

void check_searched(const Tensor* sorted, const Tensor* values) {
  bool fits = sorted->ndim() == 1 || (sorted->ndim() == values->ndim() && sorted->ndim() > 0);
  for (int d = 0; d + 1 < sorted->ndim() && fits; ++d) fits = sorted->size(d) == values->size(d);
  if (!fits)
    fail(
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
        "tensor and input value tensor must match, but we got boundaries tensor ",
        to_string(sorted->sizes()), " and input value tensor ", to_string(values->sizes()));
  if (sorted->dtype != values->dtype)
    fail("searchsorted(): Expected both tensors to have the same dtype; got ", info(sorted->dtype).name, " and ",
         info(values->dtype).name, "; convert one with .to()");
  if (is_complex(sorted->dtype) || sorted->dtype == DType::Bool) fail_not_implemented("searchsorted", sorted->dtype);
}

TensorPtr coordinates(Tensor* input) {
  // One dimension after the other in memory, as in torch.
  const kernels::Indexing& kernels = on(input->device).indexing;
  int64_t sizes[] = {kernels.count_nonzero(input->view()), input->ndim()}, strides[] = {1, sizes[0]};
  TensorPtr result = empty(make_shape(Sizes(sizes, 2), Sizes(strides, 2)), DType::Int64, input->device);
  WithoutLock unlocked(input->numel());
  kernels.nonzero(input->view(), result->view());
  return result;
}

std::vector<TensorPtr> coordinate_columns(Tensor* input) {
  int64_t one = 1, step = 1;
  // A number counts as one element in one dimension.
  TensorPtr line =
      input->ndim() == 0 ? alias(input, make_shape(Sizes(&one, 1), Sizes(&step, 1))) : TensorPtr::borrow(input);
  TensorPtr rows = coordinates(line.get());
  int64_t count = rows->size(0);
  std::vector<TensorPtr> columns;
  for (int d = 0; d < line->ndim(); ++d) columns.push_back(alias(rows.get(), make_shape(Sizes(&count, 1)), d * count));
  return columns;
}

}  // namespace

OneOrMore where(Tensor* condition, const std::optional<Value>& input, const std::optional<Value>& other) {
  if (!input && !other) return coordinate_columns(condition);
  if (!input || !other)
    fail(ErrorKind::Type,
         "where() received an invalid combination of arguments: give a condition alone, or a condition "
         "and both sources");
  if (condition->dtype != DType::Bool && condition->dtype != DType::UInt8)
    fail("where expected condition to be a boolean tensor, but got a tensor with dtype ",
         info(condition->dtype).legacy_name, "; convert it with .bool()");
  TensorPtr test = cast(condition, DType::Bool);
  Operand operands[] = {{}, operand_of(*input), operand_of(*other)};
  DType dtype = result_type(operands + 1, 2);
  operands[0].set(test.get());
  operands[0].dtype = dtype;  // not of another type: it is not converted to the result's
  TensorPtr result = empty(result_shape(operands, 3, dtype), dtype, condition->device);
  Sizes sizes = result->sizes();
  Source first(source_for(*input, condition->device), dtype), second(source_for(*other, condition->device), dtype);
  Expanded shown(test.get(), sizes), a = first.expanded(sizes), b = second.expanded(sizes);
  {
    WithoutLock unlocked(result->numel());
    on(condition->device).indexing.where(*shown, *a, *b, result->view());
  }
  return result;
}

TensorPtr masked_fill(Tensor* input, Tensor* mask, const Value& value) {
  check_mask("masked_fill", mask);
  auto filled = [&](const auto&... value) {
    CommonSizes sizes;
    sizes.add(mask->sizes());
    sizes.add(input->sizes());
    TensorPtr result = empty(sizes, input->dtype, input->device);
    Expanded shown(mask, sizes), fill(value..., sizes), rest(input, sizes);
    WithoutLock unlocked(result->numel());
    on(input->device).indexing.where(*shown, *fill, *rest, result->view());
    return result;
  };
  if (stays_on(input->device, value)) return filled(cast(value.tensor, input->dtype).get());
  return filled(Element("masked_fill", value, input->dtype), input->dtype);
}

TensorPtr masked_select(Tensor* input, Tensor* mask) {
  if (mask->dtype != DType::Bool)
    fail("masked_select: expected BoolTensor for mask; got ", info(mask->dtype).name, "; convert it with .bool()");
  CommonSizes sizes;
  sizes.add(mask->sizes());
  sizes.add(input->sizes());
  Expanded source(input, sizes), shown(mask, sizes);
  int64_t count = on(mask->device).indexing.count_nonzero(*shown);
  TensorPtr result = empty(Sizes(&count, 1), input->dtype, input->device);
  WithoutLock unlocked(checked_numel(sizes));
  on(input->device).indexing.masked_select(*source, *shown, result->view());
  return result;
}

TensorPtr masked_select_backward(Tensor* grad, const Ints& size, Tensor* mask) {
  CommonSizes sizes;
  sizes.add(size);
  sizes.add(mask->sizes());
  TensorPtr result = zeros(sizes, grad->dtype, grad->device);
  Expanded shown(mask, sizes);
  WithoutLock unlocked(result->numel());
  on(grad->device).indexing.masked_scatter(result->view(), *shown, grad->view());
  return result;
}

TensorPtr masked_scatter(Tensor* input, Tensor* mask, Tensor* source) {
  check_mask("masked_scatter", mask);
  if (input->dtype != source->dtype)
    fail("masked_scatter: expected self and source to have same dtypes but got ", info(input->dtype).legacy_name,
         " and ", info(source->dtype).legacy_name);
  CommonSizes sizes;
  sizes.add(mask->sizes());
  sizes.add(input->sizes());
  Expanded before(input, sizes), shown(mask, sizes);
  TensorPtr dense = contiguous(source);
  int64_t count = dense->numel();
  TensorPtr row = alias(dense.get(), make_shape(Sizes(&count, 1)));
  TensorPtr result = empty(sizes, input->dtype, input->device);
  WithoutLock unlocked(result->numel());
  on(input->device).memory.copy(*before, result->view());
  on(input->device).indexing.masked_scatter(result->view(), *shown, row->view());
  return result;
}

TensorPtr masked_scatter_backward(Tensor* grad, const Ints& size, Tensor* mask) {
  Expanded shown(mask, grad->sizes());
  TensorPtr result = zeros(size, grad->dtype, grad->device);
  int64_t count = result->numel();
  TensorPtr row = alias(result.get(), make_shape(Sizes(&count, 1)));
  WithoutLock unlocked(grad->numel());
  on(grad->device).indexing.masked_front(grad->view(), *shown, row->view());
  return result;
}

OneOrMore nonzero(Tensor* input, bool as_tuple) {
  if (as_tuple) return coordinate_columns(input);
  return coordinates(input);
}

TensorPtr nonzero_static(Tensor* input, int64_t size, int64_t fill_value) {
  if (size < 0) fail("nonzero_static: 'size' must be an non-negative integer; got ", size);
  int64_t sizes[] = {size, input->ndim()};
  TensorPtr result = empty(sizes, DType::Int64, input->device);
  on(input->device).indexing.nonzero_static(input->view(), fill_value, result->view());
  return result;
}

TensorPtr bincount(Tensor* input, std::optional<Tensor*> weights, int64_t minlength) {
  if (minlength < 0) fail("minlength should be >= 0; got ", minlength);
  if (category(input->dtype) != Category::Integer)
    fail(ErrorKind::NotImplemented, "\"bincount_cpu\" not implemented for '", info(input->dtype).legacy_name, "'");
  if (input->ndim() == 1 && input->numel() == 0) return zeros(Sizes(&minlength, 1), DType::Int64, input->device);
  if (input->ndim() != 1) fail("bincount only supports 1-d non-negative integral inputs.");
  if (weights && ((*weights)->ndim() != 1 || (*weights)->numel() != input->numel()))
    fail("weights should be 1-d and have the same length as input");
  TensorPtr dense = contiguous(input);
  TensorPtr values = cast(dense.get(), DType::Int64);
  const auto [least, greatest] = on(input->device).search.least_and_greatest(values->view());
  if (least < 0) fail("bincount only supports 1-d non-negative integral inputs.");
  if (greatest == INT64_MAX) fail("bincount: the value ", greatest, " needs more bins than there can be");
  int64_t bins = std::max(minlength, greatest + 1);
  if (!weights) {
    TensorPtr counts = empty(Sizes(&bins, 1), DType::Int64, input->device);
    on(input->device).search.bincount(values->view(), counts->view());
    return counts;
  }
  DType dtype = (*weights)->dtype == DType::Float32 ? DType::Float32 : DType::Float64;
  TensorPtr sums = zeros(Sizes(&bins, 1), dtype, input->device);
  on(input->device).indexing.scatter_add(sums->view(), 0, values->view(), cast(*weights, dtype)->view());
  return sums;
}

TensorPtr sorted_places(Tensor* sorted, Tensor* values, bool right, bool narrow) {
  check_searched(sorted, values);
  TensorPtr result = empty(values->sizes(), DType::Int64, sorted->device);
  {
    WithoutLock unlocked(values->numel());
    on(sorted->device).search.searchsorted(sorted->view(), values->view(), result->view(), right);
  }
  return narrow ? cast(result.get(), DType::Int32) : result;
}

TensorPtr constant_pad_nd(Tensor* input, const Ints& pad, const Scalar& value) {
  size_t pairs = pad.size() / 2;
  auto ndim = static_cast<size_t>(input->ndim());
  if (pad.size() % 2 != 0) fail("Length of pad must be even but instead it equals ", pad.size());
  if (pairs > ndim)
    fail("Padding length should be less than or equal to two times the input dimension but got padding length ",
         pad.size(), " and input of dimension ", ndim);
  // What is kept of the input, and where it goes in the result.
  int64_t sizes[kMaxDims], kept[kMaxDims], from = 0, to = 0, inside = 1;
  bool grows = false;
  for (size_t d = 0; d < ndim; ++d) {
    size_t pair = ndim - 1 - d;
    int64_t before = pair < pairs ? pad[2 * pair] : 0, after = pair < pairs ? pad[2 * pair + 1] : 0;
    int64_t size = input->size(static_cast<int>(d));
    if (__builtin_add_overflow(size, before, &sizes[d]) || __builtin_add_overflow(sizes[d], after, &sizes[d]) ||
        sizes[d] < 0)
      fail("The input size ", size, ", plus negative padding ", before, " and ", after,
           " resulted in a negative output size, which is invalid. Check dimension ", d, " of your input.");
    kept[d] = size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (kept[d] < 0)
      fail("constant_pad_nd(): padding ", before, " and ", after, " takes away more than the ", size,
           " elements of dimension ", d, "; narrow(): length must be non-negative.");
    grows |= before > 0 || after > 0;
    from += std::max<int64_t>(-before, 0) * input->stride(static_cast<int>(d));
    inside *= kept[d];
  }
  // What only cuts off is a copy of a slice, with the slice's order of dimensions.
  ShapePtr shape = grows ? shape_in_format({sizes, ndim}, suggested_format(input->shape))
                         : dense_shape(make_shape({sizes, ndim}, input->strides()).get());
  TensorPtr result = empty(std::move(shape), input->dtype, input->device);
  for (size_t d = 0; d < ndim; ++d) {
    size_t pair = ndim - 1 - d;
    if (pair < pairs) to += std::max<int64_t>(pad[2 * pair], 0) * result->stride(static_cast<int>(d));
  }
  WithoutLock unlocked(result->numel());
  if (grows) on(input->device).memory.fill(result->view(), Element(value, input->dtype).get());
  if (inside == 0) return result;
  View source = input->view(), target = result->view();
  source.sizes = target.sizes = kept;
  on(input->device).memory.copy(source.shifted(from), target.shifted(to));
  return result;
}

}  // namespace adjoint::ops
