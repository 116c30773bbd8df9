// Shape ops that choose among the views and copies of the table, and those that make several views with one node.
#include <algorithm>

#include "core/mode.h"
#include "core/warning.h"
#include "op/arg.h"
#include "op/object.h"
#include "ops/memory.h"
#include "ops/views.h"
#include "ops/views_copied.h"
#include "python/creation.h"
#include "tape/history.h"
#include "types/types.h"

namespace adjoint::ops {
namespace {

Object as_int(int64_t value) { return checked(PyLong_FromLongLong(value)); }

// ---- Memory formats

/// The format asked for, or `preset` for None.
MemoryFormat to_format(PyObject* object, const char* op, MemoryFormat preset) {
  if (object == Py_None) return preset;
  std::optional<MemoryFormat> format = to_memory_format(object);
  if (!format) Arg{object, op, "memory_format"}.wrong_type("torch.memory_format");
  return *format;
}

// ---- Several views with one node

/// Views of the input, copies of what these show, or the same memory without being called views (unsafe_split).
enum class Piece : uint8_t { View, Copy, Unsafe };

/// The node of pieces that together make the whole: their gradients are joined again.
class PiecesKind final : public NodeKind {
 public:
  PiecesKind(const char* name, const char* joining, Piece piece = Piece::View)
      : NodeKind(name), piece(piece), joining_(joining) {}

  const Piece piece;

  void apply(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext&) const override {
    Object pieces = checked(PyTuple_New(node.n_outputs));
    for (uint32_t i = 0; i < node.n_outputs; ++i) {
      const OutputMeta& meta = node.outputs()[i];
      TensorPtr piece = outputs[i] ? outputs[i] : zeros(meta.shape->size_span(), meta.dtype, meta.device);
      PyTuple_SET_ITEM(pieces.get(), i, as_object(piece.take()));
    }
    Object joined = call_op(require_op(joining_), {pieces.get(), node.saved()[0].object()});
    edges[0] = TensorPtr::borrow(as_tensor(joined.get()));
  }
  /// The dimension is all that is kept, and backward may come again.
  void release_saved(Node&) const override {}
  Object attribute(Node& node, const char* name) const override {
    return std::string_view(name) == "_saved_dim" ? Object::borrow(node.saved()[0].object()) : Object();
  }
  std::vector<std::string> attribute_names() const override { return {"_saved_dim"}; }

 private:
  const char* joining_;
};

/// Ties aliases of `input` to it as the outputs of one node.
Object as_pieces(Tensor* input, int dim, std::vector<TensorPtr> pieces, const PiecesKind& kind) {
  bool recorded = recording() && !pieces.empty() && requires_grad(input);
  for (TensorPtr& piece : pieces) {
    switch (kind.piece) {
      case Piece::View: mark_view(piece.get(), input, ViewOrigin::MultiOutput); break;
      case Piece::Copy: piece = packed(piece.get()); break;
      case Piece::Unsafe: detach_version(piece.get()); break;
    }
  }
  if (recorded) {
    NodePtr node = make_node(kind, static_cast<uint32_t>(pieces.size()), 1, 1);
    set_edge(*node, 0, input);
    node->saved()[0].save_object(as_int(dim).get());
    for (uint32_t i = 0; i < pieces.size(); ++i) set_history(pieces[i].get(), node.get(), i);
  }
  return wrap(std::move(pieces));
}

Object split_at(Tensor* input, Sizes lengths, int dim, const PiecesKind& kind) {
  std::vector<TensorPtr> pieces;
  pieces.reserve(lengths.size());
  int64_t start = 0;
  for (int64_t length : lengths) {
    pieces.push_back(slice(input, dim, start, start + length, 1));
    start += length;
  }
  return as_pieces(input, dim, std::move(pieces), kind);
}

const PiecesKind split_node("SplitBackward0", "cat");
const PiecesKind split_with_sizes_node("SplitWithSizesBackward0", "cat");
const PiecesKind unbind_node("UnbindBackward0", "stack");
const PiecesKind split_copy_node("SplitBackward0_copy", "cat", Piece::Copy);
const PiecesKind split_with_sizes_copy_node("SplitWithSizesBackward0_copy", "cat", Piece::Copy);
const PiecesKind unbind_copy_node("UnbindBackward0_copy", "stack", Piece::Copy);
const PiecesKind unsafe_split_node("UnsafeSplitBackward0", "cat", Piece::Unsafe);
const PiecesKind unsafe_split_with_sizes_node("UnsafeSplitWithSizesBackward0", "cat", Piece::Unsafe);

Object split_evenly(Tensor* input, int64_t size, int dim, const PiecesKind& kind) {
  int64_t whole = input->size(dim);
  std::vector<int64_t> lengths;
  for (int64_t start = 0; start < whole; start += lengths.back()) lengths.push_back(std::min(size, whole - start));
  if (lengths.empty()) lengths.push_back(0);
  return split_at(input, lengths, dim, kind);
}

int dim_to_split(const Tensor* input, int64_t dim, const char* op) {
  if (input->ndim() == 0) fail(op, " expects at least a 1-dimensional tensor");
  return wrap_dim(dim, input->ndim());
}

Object unbind_as(Tensor* input, int64_t dim, const PiecesKind& kind) {
  if (input->ndim() == 0) fail(ErrorKind::Index, "Dimension specified as ", dim, " but tensor has no dimensions");
  int d = wrap_dim(dim, input->ndim());
  std::vector<TensorPtr> pieces;
  pieces.reserve(input->size(d));
  if (input->size(d) > 0) pieces.push_back(select(input, d, 0));
  // The pieces have one shape, which they share.
  for (int64_t i = 1; i < input->size(d); ++i)
    pieces.push_back(alias(input, ShapePtr::borrow(pieces[0]->shape), i * input->stride(d)));
  return as_pieces(input, d, std::move(pieces), kind);
}

Object split_with_sizes_as(Tensor* input, Sizes split_sizes, int64_t dim, const PiecesKind& kind) {
  int d = dim_to_split(input, dim, "split_with_sizes");
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    if (size < 0)
      fail("split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
           to_string(split_sizes));
    if (__builtin_add_overflow(total, size, &total)) total = -1;
    if (total < 0) break;
  }
  if (total != input->size(d))
    fail("split_with_sizes expects split_sizes to sum exactly to ", input->size(d),
         " (input tensor's size at dimension ", d, "), but got split_sizes=", to_string(split_sizes));
  return split_at(input, split_sizes, d, kind);
}

Object split_as(Tensor* input, int64_t size, int64_t dim, const PiecesKind& kind) {
  int d = dim_to_split(input, dim, "split");
  if (size < 0) fail("split expects split_size be non-negative, but got split_size=", size);
  if (size == 0 && input->size(d) != 0)
    fail("split_size can only be 0 if dimension size is 0, but got dimension size of ", input->size(d));
  return split_evenly(input, size, d, kind);
}

/// Without elements along the dimension there are as many empty pieces as were asked for; `empty_kind` is their node.
Object chunk_as(Tensor* input, int64_t chunks, int64_t dim, const PiecesKind& kind, const PiecesKind& empty_kind) {
  int d = dim_to_split(input, dim, "chunk");
  if (chunks <= 0) fail("chunk expects `chunks` to be greater than 0, got: ", chunks);
  int64_t size = input->size(d);
  if (size > 0) return split_evenly(input, size / chunks + (size % chunks != 0), d, kind);
  return split_at(input, std::vector<int64_t>(chunks), d, empty_kind);
}

Object reshaped(PyObject* input, Sizes sizes) { return reshape(input, make_tuple(sizes).get()); }

}  // namespace

Object view(PyObject* input, PyObject* size, PyObject* dtype) {
  if (dtype == Py_None && PyTuple_Check(size) && PyTuple_GET_SIZE(size) == 1 &&
      (is_dtype(PyTuple_GET_ITEM(size, 0)) || PyType_Check(PyTuple_GET_ITEM(size, 0))))
    dtype = PyTuple_GET_ITEM(size, 0);
  if (dtype != Py_None) return wrap(view_dtype(Arg{input, "view", "input"}, Arg{dtype, "view", "dtype"}));
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
  Ints sizes = inferred_sizes(Ints(Arg{shape, "reshape", "shape"}), tensor->numel());
  if (fits_view(tensor, sizes)) return call_op(as_alias, {input, shape});
  return call_op(as_copy, {contiguous_as(input, Py_None).get(), make_tuple(sizes).get()});
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

Object contiguous_as(PyObject* input, PyObject* memory_format) {
  Tensor* tensor = Arg{input, "contiguous", "input"};
  MemoryFormat format = to_format(memory_format, "contiguous", MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve && !tensor->contiguous())
    fail("preserve memory format is unsupported by the contiguous operator; use clone()");
  if (format == MemoryFormat::Preserve || lies_in(tensor->shape, format)) return Object::borrow(input);
  static Op& op = require_op("clone");
  return call_op(op, {input, memory_format == Py_None ? format_object(MemoryFormat::Contiguous) : memory_format});
}

Object laid_out(PyObject* input, bool channels_last) {
  Tensor* tensor = Arg{input, "laid_out", "input"};
  ShapePtr wanted = shape_in_format(tensor->sizes(), channels_last_format(tensor->ndim(), channels_last));
  if (std::ranges::equal(tensor->strides(), wanted->stride_span())) return Object::borrow(input);
  static Op& op = require_op("clone");
  return call_op(op, {input, format_object(channels_last_format(tensor->ndim(), channels_last))});
}

TensorPtr clone_as(Tensor* input, PyObject* memory_format) {
  MemoryFormat format = to_format(memory_format, "clone", MemoryFormat::Preserve);
  if (format == MemoryFormat::Preserve) return clone(input);
  TensorPtr result = empty(shape_in_format(input->sizes(), format), input->dtype, input->device);
  copy_into(input, result.get());
  return result;
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

Object unbind(Tensor* input, int64_t dim) { return unbind_as(input, dim, unbind_node); }
Object unbind_copy(Tensor* input, int64_t dim) { return unbind_as(input, dim, unbind_copy_node); }

Object split_with_sizes(Tensor* input, Ints split_sizes, int64_t dim) {
  return split_with_sizes_as(input, split_sizes, dim, split_with_sizes_node);
}
Object split_with_sizes_copy(Tensor* input, Ints split_sizes, int64_t dim) {
  return split_with_sizes_as(input, split_sizes, dim, split_with_sizes_copy_node);
}
Object unsafe_split_with_sizes(Tensor* input, Ints split_sizes, int64_t dim) {
  return split_with_sizes_as(input, split_sizes, dim, unsafe_split_with_sizes_node);
}

Object split(Tensor* input, PyObject* split_size, int64_t dim) {
  if (PyTuple_Check(split_size) || PyList_Check(split_size))
    return split_with_sizes(input, Arg{split_size, "split_with_sizes", "split_sizes"}, dim);
  return split_as(input, Arg{split_size, "split", "split_size"}, dim, split_node);
}
Object split_copy(Tensor* input, int64_t split_size, int64_t dim) {
  return split_as(input, split_size, dim, split_copy_node);
}
Object unsafe_split(Tensor* input, int64_t split_size, int64_t dim) {
  return split_as(input, split_size, dim, unsafe_split_node);
}

Object chunk(Tensor* input, int64_t chunks, int64_t dim) {
  return chunk_as(input, chunks, dim, split_node, split_with_sizes_node);
}
Object unsafe_chunk(Tensor* input, int64_t chunks, int64_t dim) {
  return chunk_as(input, chunks, dim, unsafe_split_node, unsafe_split_with_sizes_node);
}

}  // namespace adjoint::ops
