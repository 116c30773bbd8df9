#include "python/indexing.h"

#include <array>
#include <vector>

#include "core/mode.h"
#include "core/sparse.h"
#include "op/meta.h"
#include "op/object.h"
#include "op/sparse.h"
#include "ops/memory.h"
#include "python/creation.h"
#include "python/interop.h"
#include "types/types.h"

namespace adjoint::python {
namespace {

// ---- The views of basic indexing, through the op table

PyObject* small_int(int value) {
  static PyObject* const ints[] = {PyLong_FromLong(0), PyLong_FromLong(1)};
  return ints[value];
}

Object as_int(int64_t value) { return checked(PyLong_FromLongLong(value)); }

[[noreturn]] void fail_out_of_bounds(PyObject* index, int entry, int64_t size) {
  Object text = checked(PyObject_Str(index));
  fail(ErrorKind::Index, "index ", PyUnicode_AsUTF8(text.get()), " is out of bounds for dimension ", entry,
       " with size ", size, size ? "; indices run from 0 to " + std::to_string(size - 1) + ", or back from -1" : "");
}

/// `index` is an exact int (or what to_index_object made of it); `entry` is its place in the key, by which torch names
/// the dimension of an index that is out of bounds.
Object select_at(Tensor* tensor, int dim, PyObject* index, int entry = 0) {
  static Op& op = require_op("select");
  if (tensor->ndim() == 0)
    fail(ErrorKind::Index,
         "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
         "0-dim tensor to a number");
  int overflow = 0;
  int64_t place = PyLong_AsLongLongAndOverflow(index, &overflow);
  if (overflow) fail(ErrorKind::Value, "Overflow when unpacking long long");
  int64_t size = tensor->size(dim);
  if (place < -size || place >= size) fail_out_of_bounds(index, entry, size);
  PyObject* slots[] = {as_object(tensor), dim == 0 ? small_int(0) : nullptr, index};
  if (dim == 0) return op.call(slots);
  Object dimension = as_int(dim);
  slots[1] = dimension.get();
  return op.call(slots);
}

Object unsqueeze_at(Tensor* tensor, int dim) {
  static Op& op = require_op("unsqueeze");
  return call_op(op, {as_object(tensor), as_int(dim).get()});
}

Object whole(Tensor* tensor) {
  static Op& op = require_op("alias");
  return call_op(op, {as_object(tensor)});
}

/// The bounds of a Python slice, as given where they can be handed on and clipped otherwise.
struct Bounds {
  Py_ssize_t start, stop, step;

  explicit Bounds(PyObject* slice) {
    check(PySlice_Unpack(slice, &start, &stop, &step) == 0);
    if (step < 1)
      fail(ErrorKind::Value, "step must be greater than zero; got ", step, "; use flip() to reverse a dimension");
  }
  bool takes_all(int64_t size) const { return step == 1 && start == 0 && stop >= size; }
};

Object slice_at(Tensor* tensor, int dim, const Bounds& bounds) {
  static Op& op = require_op("slice");
  Object dimension = as_int(dim), start = as_int(bounds.start), stop = as_int(bounds.stop);
  Object step = bounds.step == 1 ? Object::borrow(small_int(1)) : as_int(bounds.step);
  PyObject* slots[] = {as_object(tensor), dimension.get(), start.get(), stop.get(), step.get()};
  return op.call(slots);
}

// ---- Keys

bool is_full_slice(PyObject* key) {
  auto* slice = reinterpret_cast<PySliceObject*>(key);
  return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

/// NumPy's old rule, which torch keeps: a short list that holds sequences, slices, None, ... or tensors is meant as a
/// tuple.
bool means_tuple(PyObject* key) {
  if (is_tensor(key) || is_numpy_array(key) || !PySequence_Check(key)) return false;
  Py_ssize_t n = PySequence_Size(key);
  if (n < 0) {
    PyErr_Clear();
    return false;
  }
  if (n >= 32) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    Object item = Object::steal(PySequence_GetItem(key, i));
    if (!item) {
      PyErr_Clear();
      return false;
    }
    if (is_tensor(item.get()) || PySequence_Check(item.get()) || PySlice_Check(item.get()) ||
        item.get() == Py_Ellipsis || item.get() == Py_None) {
      warn(
          "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of "
          "x[seq], or "
          "x[torch.tensor(seq)] for a single index tensor.");
      return true;
    }
  }
  return false;
}

/// A list, array or other sequence of numbers as an index: masks keep their type, other numbers become int64.
TensorPtr index_from_sequence(PyObject* sequence) {
  if (PyUnicode_Check(sequence) || PyBytes_Check(sequence))
    fail(ErrorKind::Type, "new(): invalid data type '", Py_TYPE(sequence)->tp_name,
         "'; a tensor is indexed by numbers");
  TensorPtr tensor = tensor_from_data(sequence, std::nullopt);
  if (is_complex(tensor->dtype)) fail(ErrorKind::Type, "'complex' object cannot be interpreted as an integer");
  return tensor->dtype == DType::Bool || tensor->dtype == DType::UInt8 ? tensor : cast(tensor.get(), DType::Int64);
}

/// A key taken apart: the view that its basic parts make, and the index tensors that remain.
class Resolved {
 public:
  Resolved(Tensor* self, PyObject* key) : self_(self), result_(Object::borrow(as_object(self))) {
    Object tuple = PyTuple_Check(key) ? Object::borrow(key)
                   : means_tuple(key) ? checked(PySequence_Tuple(key))
                                      : Object();
    PyObject* const* items = tuple ? PySequence_Fast_ITEMS(tuple.get()) : &key;
    const Py_ssize_t n = tuple ? PyTuple_GET_SIZE(tuple.get()) : 1;
    // Sequences become tensors once: their number of dimensions is needed first.
    std::vector<Object> parts(n);
    int64_t specified = 0;
    for (Py_ssize_t i = 0; i < n; ++i) {
      parts[i] = part_of(items[i]);
      specified += dimensions_of(parts[i].get());
    }
    if (specified > self->ndim())
      fail(ErrorKind::Index, "too many indices for tensor of dimension ", self->ndim(), " (got ", specified, ")");
    for (entry_ = 0; entry_ < n; ++entry_) apply(parts[entry_].get(), self->ndim() - specified);
  }

  Tensor* result() const { return as_tensor(result_.get()); }
  Object take() { return std::move(result_); }
  bool untouched() const { return result() == self_; }
  bool advanced() const { return !entries_.empty(); }
  /// Index tensors and None, one for each leading dimension of the result.
  Object indices() const {
    Object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(entries_.size())));
    for (size_t i = 0; i < entries_.size(); ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(entries_[i].get()));
    return tuple;
  }

 private:
  /// What an entry of the key comes down to: an int, a slice, None, Ellipsis, a bool or a tensor.
  static Object part_of(PyObject* item) {
    if (PyLong_Check(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis)
      return Object::borrow(item);
    TensorPtr tensor;
    if (is_tensor(item)) {
      refuse_without_shape("__getitem__", item);
      tensor = TensorPtr::borrow(as_tensor(item));
    } else if (PyIndex_Check(item) && !is_numpy_array(item)) {
      return checked(PyNumber_Index(item));
    } else if (PySequence_Check(item)) {
      tensor = index_from_sequence(item);
    } else {
      fail(ErrorKind::Index,
           "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got ",
           Py_TYPE(item)->tp_name, ")");
    }
    if (tensor->dtype == DType::UInt8 && tensor->ndim() > 0)
      warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
    return wrap(std::move(tensor));
  }

  static bool is_mask(const Tensor* tensor) { return tensor->dtype == DType::Bool || tensor->dtype == DType::UInt8; }

  /// How many dimensions of the tensor an entry speaks of.
  static int64_t dimensions_of(PyObject* part) {
    if (part == Py_None || part == Py_Ellipsis || PyBool_Check(part)) return 0;
    if (is_tensor(part) && is_mask(as_tensor(part))) return as_tensor(part)->ndim();
    return 1;
  }

  void apply(PyObject* part, int64_t unspecified) {
    if (PyBool_Check(part)) {
      add_flag(part == Py_True);
    } else if (PyLong_Check(part)) {
      result_ = select_at(result(), checked_dim(), part, static_cast<int>(entry_));
    } else if (PySlice_Check(part)) {
      apply_slice(part);
    } else if (part == Py_Ellipsis) {
      dim_ += static_cast<int>(unspecified);
    } else if (part == Py_None) {
      result_ = unsqueeze_at(result(), dim_++);
    } else {
      apply_tensor(as_tensor(part));
    }
  }

  void apply_slice(PyObject* part) {
    if (!is_full_slice(part)) {
      Bounds bounds(part);
      if (!bounds.takes_all(result()->size(checked_dim()))) result_ = slice_at(result(), dim_, bounds);
    }
    ++dim_;
  }

  void apply_tensor(Tensor* tensor) {
    if (!is_integral(tensor->dtype))
      fail(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors; got ",
           info(tensor->dtype).name, "; convert them with .long()");
    if (tensor->ndim() == 0 && !is_mask(tensor) && !is_batched(tensor)) {
      Object place = as_int(to_int(as_object(tensor), "index", "index"));
      result_ = select_at(result(), checked_dim(), place.get(), static_cast<int>(entry_));
    } else if (tensor->ndim() == 0 && is_mask(tensor)) {
      add_flag(to_int(as_object(tensor), "index", "index") != 0);
    } else {
      add_index(Object::borrow(as_object(tensor)), is_mask(tensor) ? tensor->ndim() : 1);
    }
  }

  /// x[True] is x with a new dimension of size 1, x[False] one of size 0.
  void add_flag(bool taken) {
    result_ = unsqueeze_at(result(), dim_);
    TensorPtr place = empty(std::array<int64_t, 1>{taken}, DType::Int64, DeviceType::Cpu);
    if (taken) *place->as<int64_t>() = 0;
    add_index(wrap(std::move(place)), 1);
  }

  void add_index(Object index, int dimensions) {
    for (; covered_ < dim_; ++covered_) entries_.push_back(Object::borrow(Py_None));
    entries_.push_back(std::move(index));
    dim_ += dimensions;
    covered_ += dimensions;
  }

  int checked_dim() const {
    if (dim_ >= result()->ndim())
      fail(ErrorKind::Index, "Dimension out of range (expected to be in range of [", -result()->ndim(), ", ",
           result()->ndim() - 1, "], but got ", dim_, ")");
    return dim_;
  }

  Tensor* self_;
  Object result_;
  int dim_ = 0;
  Py_ssize_t entry_ = 0;  ///< the place in the key
  int covered_ = 0;       ///< dimensions that entries_ speaks of
  std::vector<Object> entries_;
};

// ---- Values

/// A number as a 0-d tensor of the type of the tensor that it is assigned to.
TensorPtr number_like(const Tensor* self, const Scalar& number) {
  check_fill(number, self->dtype);
  TensorPtr result = empty(scalar_shape(), self->dtype, DeviceType::Cpu);
  dispatch_any(self->dtype, [&](auto tag) { *result->as<decltype(tag)>() = number.to<decltype(tag)>(); });
  return result;
}

TensorPtr value_tensor(const Tensor* self, PyObject* value) {
  refuse_without_shape("__setitem__", value);
  if (is_tensor(value)) return TensorPtr::borrow(as_tensor(value));
  Scalar number;
  if (PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)) {
    if (PyLong_Check(value)) {
      int overflow = 0;
      PyLong_AsLongLongAndOverflow(value, &overflow);
      if (overflow) fail(ErrorKind::Value, "Overflow when unpacking long long");
    }
    to_scalar(value, &number);
    return number_like(self, number);
  }
  if (PyIndex_Check(value) && !PySequence_Check(value)) return value_tensor(self, checked(PyNumber_Index(value)).get());
  fail(ErrorKind::Type, "can't assign a ", Py_TYPE(value)->tp_name, " to a torch.", info(self->dtype).legacy_name,
       "Tensor; assign a number or a tensor (torch.tensor(value))");
}

/// `value` without leading dimensions of size 1 beyond the `ndim` that its place has.
TensorPtr without_leading_ones(TensorPtr value, int ndim) {
  int extra = 0;
  while (value->ndim() - extra > ndim && value->size(extra) == 1) ++extra;
  if (extra == 0) return value;
  static Op& op = require_op("view_sizes");
  Object shape = make_tuple(value->sizes().subspan(extra));
  return TensorPtr::borrow(as_tensor(call_op(op, {as_object(value.get()), shape.get()}).get()));
}

void copy_into(Tensor* target, TensorPtr value) {
  static Op& op = require_op("copy");
  value = without_leading_ones(std::move(value), target->ndim());
  // One value everywhere is recorded as fill_, as in torch.
  if (value->ndim() == 0 && recording() && category(value->dtype) <= category(target->dtype) &&
      (requires_grad(target) || requires_grad(value.get()))) {
    static Op& overwrite = require_op("overwrite");
    PyObject* slots[] = {as_object(target), as_object(value.get())};
    return overwrite.call_in_place(slots);
  }
  if (!same_sizes(value->shape, target->shape) && value->ndim() > 0) {
    static Op& expand = require_op("expand");
    Object expanded = call_op(expand, {as_object(value.get()), make_tuple(target->sizes()).get()});
    value = TensorPtr::borrow(as_tensor(expanded.get()));
  }
  PyObject* slots[] = {as_object(target), as_object(value.get()), Py_False};
  op.call_in_place(slots);
}

}  // namespace

Object get_item(Tensor* self, PyObject* key) {
  if (is_sparse(self)) [[unlikely]]
    return handle_sparse("get_item", {as_object(self), key});
  if (PyLong_CheckExact(key)) return select_at(self, 0, key);
  if (PySlice_Check(key)) return slice_at(self, 0, Bounds(key));
  Resolved resolved(self, key);
  if (resolved.advanced()) {
    static Op& op = require_op("index");
    return call_op(op, {as_object(resolved.result()), resolved.indices().get()});
  }
  return resolved.untouched() ? whole(self) : resolved.take();
}

void set_item(Tensor* self, PyObject* key, PyObject* value) {
  if (is_sparse(self)) fail(ErrorKind::Type, "Cannot assign to a sparse tensor; make it dense with to_dense() first");
  TensorPtr source = value_tensor(self, value);
  if (PyLong_CheckExact(key)) return copy_into(as_tensor(select_at(self, 0, key).get()), std::move(source));
  if (key == Py_False) return;
  if (key == Py_True) return copy_into(as_tensor(unsqueeze_at(self, 0).get()), std::move(source));
  Resolved resolved(self, key);
  if (!resolved.advanced()) return copy_into(resolved.result(), std::move(source));
  // A number of dimensions that the result has at least: what is left of the value broadcasts.
  source = without_leading_ones(std::move(source), 0);
  static Op& op = require_op("index_put");
  Object indices = resolved.indices();
  PyObject* slots[] = {as_object(resolved.result()), indices.get(), as_object(source.get()), Py_False};
  op.call_in_place(slots);
}

}  // namespace adjoint::python
