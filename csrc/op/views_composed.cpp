#include "op/views_composed.h"

#include <algorithm>

#include "core/warning.h"
#include "op/object.h"
#include "ops/pieces.h"
#include "ops/views.h"
#include "types/formats.h"
#include "types/types.h"

namespace adjoint::composed {
namespace {

Object as_int(int64_t value) { return checked(PyLong_FromLongLong(value)); }

Object reshaped(PyObject* input, Sizes sizes) { return reshape(input, make_tuple(sizes).get()); }

}  // namespace

Object view(PyObject* input, PyObject* size, PyObject* dtype) {
  if (dtype == Py_None && PyTuple_Check(size) && PyTuple_GET_SIZE(size) == 1 &&
      (is_dtype(PyTuple_GET_ITEM(size, 0)) || PyType_Check(PyTuple_GET_ITEM(size, 0))))
    dtype = PyTuple_GET_ITEM(size, 0);
  static Op& typed = require_op("view_dtype");
  if (dtype != Py_None) return call_op(typed, {input, dtype});
  if (size == Py_None)
    fail(ErrorKind::Type, "view() received an invalid combination of arguments: expected sizes or a dtype; got none");
  static Op& op = require_op("view_sizes");
  return call_op(op, {input, size});
}

Object reshape(PyObject* input, PyObject* shape) {
  static Op& as_view = require_op("view_sizes");
  static Op& as_alias = require_op("reshape_alias");
  static Op& as_copy = require_op("_unsafe_view");
  Tensor* tensor = Arg{input, "reshape", "input"};
  if (tensor->contiguous()) return call_op(as_view, {input, shape});
  Ints sizes = ops::inferred_sizes(Ints(Arg{shape, "reshape", "shape"}), tensor->numel());
  if (ops::fits_view(tensor, sizes)) return call_op(as_alias, {input, shape});
  return call_op(as_copy, {contiguous(input, std::nullopt).get(), make_tuple(sizes).get()});
}

Object flatten(PyObject* input, int64_t start_dim, int64_t end_dim) {
  Tensor* tensor = Arg{input, "flatten", "input"};
  int start = wrap_dim(start_dim, tensor->ndim()), end = wrap_dim(end_dim, tensor->ndim());
  if (start > end)
    fail("flatten() has invalid args: start_dim cannot come after end_dim; got ", start_dim, " and ", end_dim);
  if (tensor->ndim() == 0) {
    const int64_t one[] = {1};
    return reshaped(input, one);
  }
  if (start == end) return Object::borrow(input);
  Ints sizes;
  for (int d = 0; d < start; ++d) sizes.push(tensor->size(d), "flatten");
  sizes.push(checked_numel(tensor->sizes().subspan(start, end - start + 1)), "flatten");
  for (int d = end + 1; d < tensor->ndim(); ++d) sizes.push(tensor->size(d), "flatten");
  return reshaped(input, sizes);
}

Object squeeze(PyObject* input, PyObject* dim) {
  static Op& all = require_op("squeeze_all");
  static Op& one = require_op("squeeze_dim");
  static Op& several = require_op("squeeze_dims");
  if (dim == Py_None) return call_op(all, {input});
  return call_op(PyTuple_Check(dim) || PyList_Check(dim) ? several : one, {input, dim});
}

Object contiguous(PyObject* input, std::optional<MemoryFormat> memory_format) {
  Tensor* tensor = Arg{input, "contiguous", "input"};
  MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve && !tensor->contiguous())
    fail("preserve memory format is unsupported by the contiguous operator; use clone()");
  if (format == MemoryFormat::Preserve || lies_in(tensor->shape, format)) return Object::borrow(input);
  static Op& op = require_op("clone");
  return call_op(op, {input, format_object(format)});
}

Object laid_out(PyObject* input, bool channels_last) {
  Tensor* tensor = Arg{input, "laid_out", "input"};
  ShapePtr wanted = shape_in_format(tensor->sizes(), channels_last_format(tensor->ndim(), channels_last));
  if (std::ranges::equal(tensor->strides(), wanted->stride_span())) return Object::borrow(input);
  static Op& op = require_op("clone");
  return call_op(op, {input, format_object(channels_last_format(tensor->ndim(), channels_last))});
}

Object as_strided_in_storage(PyObject* input, PyObject* size, PyObject* stride, std::optional<int64_t> storage_offset) {
  static Op& op = require_op("as_strided_within");
  Tensor* tensor = Arg{input, "as_strided", "input"};
  if (storage_offset && *storage_offset < 0) fail("Tensor: invalid storage offset ", *storage_offset);
  int64_t offset = storage_offset ? *storage_offset - tensor->offset() : 0;
  return call_op(op, {input, size, stride, as_int(offset).get()});
}

Object numpy_T(PyObject* input) {
  Tensor* tensor = Arg{input, "T", "input"};
  static bool warned = false;
  if (tensor->ndim() == 0)
    warn_once(warned, "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.");
  else if (tensor->ndim() > 2)
    warn_once(warned,
              "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
              "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
              "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.");
  Ints dims;
  for (int d = tensor->ndim() - 1; d >= 0; --d) dims.push(d, "T");
  static Op& op = require_op("permute");
  return call_op(op, {input, make_tuple(dims).get()});
}

Object mT(PyObject* input) {
  Tensor* tensor = Arg{input, "mT", "input"};
  if (tensor->ndim() == 0) return call_op(require_op("alias"), {input});
  if (tensor->ndim() < 2)
    fail("tensor.mT is only supported on matrices or batches of matrices. Got ", tensor->ndim(), "-D tensor.");
  static Op& op = require_op("transpose");
  return call_op(op, {input, as_int(-2).get(), as_int(-1).get()});
}

Object narrow(PyObject* input, PyObject* dim, PyObject* first, int64_t length) {
  Tensor* tensor = Arg{input, "narrow", "input"};
  if (is_tensor(first) && (as_tensor(first)->ndim() || category(as_tensor(first)->dtype) != Category::Integer))
    fail("start must be an 0-dim integral Tensor.");
  int64_t start = Arg{first, "narrow", "start"};
  if (tensor->ndim() == 0) fail("narrow() cannot be applied to a 0-dim tensor.");
  if (length < 0) fail("narrow(): length must be non-negative. Got ", length);
  int64_t size = tensor->size(wrap_dim(Arg{dim, "narrow", "dim"}, tensor->ndim()));
  if (start < -size || start > size)
    fail(ErrorKind::Index, "start out of range (expected to be in range of [", -size, ", ", size, "], but got ", start,
         ")");
  if (start < 0) start += size;
  if (length > size - start) fail("start (", start, ") + length (", length, ") exceeds dimension size (", size, ").");
  static Op& op = require_op("slice");
  return call_op(op, {input, dim, as_int(start).get(), as_int(start + length).get()});
}

// ---- Parts

Object split(PyObject* input, PyObject* split_size, PyObject* dim) {
  static Op& evenly = require_op("split_evenly");
  static Op& with_sizes = require_op("split_with_sizes");
  return call_op(is_sequence(split_size) ? with_sizes : evenly, {input, split_size, dim});
}

/// Without elements along the dimension there are as many empty pieces as were asked for.
static Object chunk_by(Op& evenly, Op& with_sizes, PyObject* input, int64_t chunks, PyObject* dim) {
  Tensor* tensor = Arg{input, "chunk", "input"};
  int64_t size = tensor->size(ops::dim_to_split(tensor, Arg{dim, "chunk", "dim"}, "chunk"));
  if (chunks <= 0) fail("chunk expects `chunks` to be greater than 0, got: ", chunks);
  if (size > 0) return call_op(evenly, {input, as_int(size / chunks + (size % chunks != 0)).get(), dim});
  return call_op(with_sizes, {input, make_tuple(Sizes(std::vector<int64_t>(chunks))).get(), dim});
}

Object chunk(PyObject* input, int64_t chunks, PyObject* dim) {
  static Op& evenly = require_op("split_evenly");
  static Op& with_sizes = require_op("split_with_sizes");
  return chunk_by(evenly, with_sizes, input, chunks, dim);
}
Object unsafe_chunk(PyObject* input, int64_t chunks, PyObject* dim) {
  static Op& evenly = require_op("unsafe_split");
  static Op& with_sizes = require_op("unsafe_split_with_sizes");
  return chunk_by(evenly, with_sizes, input, chunks, dim);
}

}  // namespace adjoint::composed
