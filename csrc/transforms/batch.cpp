#include "transforms/batch.h"

#include <algorithm>

#include "core/mode.h"
#include "op/object.h"
#include "op/recorded.h"
#include "op/transform_rules.h"
#include "tape/history.h"
#include "types/struct_sequence.h"
#include "types/types.h"

namespace adjoint {

Object python_function(const char* module, const char* name) {
  Object imported = checked(PyImport_ImportModule(module));
  return checked(PyObject_GetAttrString(imported.get(), name));
}

Object with_dims(Tensor* value, int count) {
  if (count == 0) return Object::borrow(as_object(value));
  int64_t sizes[kMaxDims];
  const int n = value->ndim() + count;
  if (n > kMaxDims) fail("vmap: tensors have at most ", kMaxDims, " dimensions, with those of the batches");
  sizes[0] = value->size(0);
  std::fill(sizes + 1, sizes + 1 + count, 1);
  std::copy(value->sizes().begin() + 1, value->sizes().end(), sizes + 1 + count);
  Object size = make_tuple({sizes, static_cast<size_t>(n)});
  return call_op(cached_op("view_sizes", [] {}), {as_object(value), size.get()});
}

bool Batch::concerns(const Op& op, PyObject* const* slots) const {
  return any_tensor(slots, op.arguments.size(), [&](Tensor* tensor) { return is_batched_at(tensor, number()); });
}

bool Batch::spreads(PyObject* const* slots, size_t count) const {
  return any_tensor(slots, count,
                    [&](Tensor* tensor) { return is_batched_at(tensor, number()) && !is_shared(tensor); });
}

Object Batch::outside(PyObject* object) const {
  if (is_tensor(object))
    return Object::borrow(is_batched_at(as_tensor(object), number()) ? as_object(batched_value(as_tensor(object)))
                                                                     : object);
  if (!is_sequence(object)) return Object::borrow(object);
  auto ours = [&](Tensor* tensor) { return is_batched_at(tensor, number()); };
  if (!any_tensor(&object, 1, ours)) return Object::borrow(object);
  // In a sequence that has batched tensors, all are given as such.
  const bool spread = spreads(&object, 1);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  Object tuple = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    Object value = is_tensor(item) && spread ? wrap(expanded(as_tensor(item))) : outside(item);
    PyTuple_SET_ITEM(tuple.get(), i, value.take());
  }
  return tuple;
}

TensorPtr Batch::expanded(Tensor* tensor) const {
  if (is_batched_at(tensor, number())) {
    if (!is_shared(tensor)) return TensorPtr::borrow(batched_value(tensor));
    tensor = batched_value(tensor);
  }
  int64_t sizes[kMaxDims];
  if (tensor->ndim() + 1 > kMaxDims) fail("vmap: tensors have at most ", kMaxDims, " dimensions");
  sizes[0] = size_;
  std::ranges::copy(tensor->sizes(), sizes + 1);
  Object size = make_tuple({sizes, static_cast<size_t>(tensor->ndim()) + 1});
  Object result = call_op(cached_op("expand", [] {}), {as_object(tensor), size.get()});
  return TensorPtr::steal(as_tensor(result.take()));
}

Object Batch::call_later(Op& op, PyObject* const* slots) {
  if (mode_flags & (kTransformed | kAutocast | kAnomalyCheckForward)) return {};
  Op& chosen = op.chosen(slots);
  TensorPtr result = chosen.kind == Op::Kind::Elementwise ? chain_->call(chosen, slots, number()) : TensorPtr();
  if (!result) return {};
  Tensor* output = result.get();
  if (records(chosen, slots)) chosen.record_results(slots, &output, 1);
  return wrap(std::move(result));
}

Object Batch::call(Op& op, PyObject* const* slots) {
  if (op.kind == Op::Kind::Elementwise) {
    if (Object result = call_later(op, slots)) return result;
  }
  if (op.transforms().random) return draw(op, slots);
  if (!concerns(op, slots)) return op.call(slots);
  if (changes_memory(op)) return change_memory(op, slots);
  if (Object result = call_parts(op, slots)) return result;
  Op& chosen = op.chosen(slots);
  const bool spread = spreads(slots, op.arguments.size());
  Object result = !spread                                ? call_shared(chosen, slots)
                  : chosen.kind == Op::Kind::Elementwise ? call_elementwise(chosen, slots)
                                                         : call_rule(chosen, slots);
  Object shown = inside(chosen, slots, std::move(result), !spread);
  if (spread && shown.get() != slots[0] && is_tensor(shown.get())) chain_->adopt(as_tensor(shown.get()));
  return shown;
}

Object Batch::call_shared(Op& op, PyObject* const* slots) {
  PyObject* values[kMaxArguments];
  Object owned[kMaxArguments];
  for (int i = 0; i < op.count; ++i) values[i] = (owned[i] = outside(slots[i])).get();
  return op.call(values);
}

/// Note [Types of batched numbers]: a tensor without dimensions gives way to others in the choice of a type, and its
/// value, which has one, would not: it is cast first.
bool Batch::line_up(Op& op, PyObject* const* slots, PyObject** values, Object* owned) {
  Operand operands[kernels::kMaxInputs];
  int ndim = 0;
  bool numbers = false, types_differ = false;
  const Tensor* first = nullptr;
  for (int i = 0; i < op.n_operands; ++i) {
    if (!is_tensor(slots[i])) {
      Scalar scalar;
      if (!to_scalar(slots[i], &scalar)) return false;
      operands[i].set(scalar);
      numbers = true;
      continue;
    }
    const Tensor* tensor = as_tensor(slots[i]);
    operands[i].set(tensor);
    ndim = std::max(ndim, tensor->ndim());
    numbers |= tensor->ndim() == 0;
    types_differ |= first && first->dtype != tensor->dtype;
    if (!first) first = tensor;
  }
  std::optional<DType> dtype;
  if (numbers && types_differ) dtype = ops::result_type(operands, op.n_operands);
  for (int i = 0; i < op.count; ++i) {
    values[i] = slots[i];
    if (!is_tensor(slots[i]) || !is_batched_at(as_tensor(slots[i]), number())) continue;
    Tensor* value = batched_value(as_tensor(slots[i]));
    if (is_shared(as_tensor(slots[i]))) {
      values[i] = as_object(value);
      continue;
    }
    if (i >= op.n_operands)
      fail(op.shown, "(): argument '", PyUnicode_AsUTF8(op.arguments[i].name.get()),
           "' must be one number for all elements of a batch; vmap over it is not possible");
    TensorPtr typed;
    if (dtype && value->ndim() == 1 && value->dtype != *dtype) {
      typed = cast_recorded(value, *dtype);
      value = typed.get();
    }
    owned[i] = with_dims(value, ndim - (value->ndim() - 1));
    values[i] = owned[i].get();
  }
  return true;
}

Object Batch::call_elementwise(Op& op, PyObject* const* slots) {
  Object owned[kMaxArguments];
  PyObject* values[kMaxArguments];
  return op.call(line_up(op, slots, values, owned) ? values : slots);  // what cannot be lined up is refused there
}

/// Dimensions of a tensor of this rank, a number or a sequence of them, as those of its value; null where it takes the
/// rule to say what they mean.
static Object behind(PyObject* dim, int rank) {
  if (PyLong_CheckExact(dim)) {
    const long place = PyLong_AsLong(dim);
    if (PyErr_Occurred()) PyErr_Clear();
    if (place < -rank || place >= rank) return {};
    return checked(PyLong_FromLong((place < 0 ? place + rank : place) + 1));
  }
  if (!is_sequence(dim) || PySequence_Fast_GET_SIZE(dim) == 0) return {};
  Object tuple = checked(PyTuple_New(PySequence_Fast_GET_SIZE(dim)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(dim, i);
    Object place = PyLong_CheckExact(item) ? behind(item, rank) : Object();
    if (!place) return {};
    PyTuple_SET_ITEM(tuple.get(), i, place.take());
  }
  return tuple;
}

Object Batch::call_by_places(Op& op, PyObject* const* slots) {
  if (!is_tensor(slots[0]) || !is_batched_at(as_tensor(slots[0]), number()) || is_shared(as_tensor(slots[0])))
    return {};
  if (any_tensor(slots + 1, op.arguments.size() - 1, [](Tensor*) { return true; })) return {};
  int rank = as_tensor(slots[0])->ndim();
  if (op.transforms().places->of_sizes) {
    PyObject* sizes = slots[op.transforms().places->sizes[0]];
    if (!is_sequence(sizes)) return {};
    rank = static_cast<int>(PySequence_Fast_GET_SIZE(sizes));
  }
  if (rank == 0 && !op.transforms().places->dims.empty()) return {};
  PyObject* args[kMaxArguments];
  Object owned[kMaxArguments];
  std::copy(slots, slots + op.count, args);
  args[0] = as_object(batched_value(as_tensor(slots[0])));
  for (uint8_t slot : op.transforms().places->dims) {
    owned[slot] = behind(slots[slot], rank);
    if (!(args[slot] = owned[slot].get())) return {};
  }
  for (uint8_t slot : op.transforms().places->sizes) {
    if (!is_sequence(slots[slot]) || size_ == 0) return {};
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(slots[slot]);
    owned[slot] = checked(PyTuple_New(n + 1));
    args[slot] = owned[slot].get();
    PyTuple_SET_ITEM(args[slot], 0, checked(PyLong_FromLongLong(size_)).take());
    for (Py_ssize_t i = 0; i < n; ++i)
      PyTuple_SET_ITEM(args[slot], i + 1, Py_NewRef(PySequence_Fast_GET_ITEM(slots[slot], i)));
  }
  return op.call(args);
}

Object Batch::call_by_rows(Op& op, PyObject* const* slots) {
  const int place = op.transforms().rows;
  if (!is_tensor(slots[place])) return op.call(slots);  // which refuses it
  for (int i = 0; i < op.count; ++i)
    if (is_tensor(slots[i]) && is_batched_at(as_tensor(slots[i]), number()) != (i == place)) return {};
  Tensor* matrix = as_tensor(slots[place]);
  if (matrix->ndim() != 2) return {};
  static PyObject* const first = PyLong_FromLong(0);
  static PyObject* const second = PyLong_FromLong(1);
  Object rows = call_op(cached_op("flatten", [] {}), {as_object(batched_value(matrix)), first, second});
  PyObject* args[kMaxArguments];
  std::copy(slots, slots + op.count, args);
  args[place] = rows.get();
  TensorPtr result = as_result(op.call(args));
  int64_t sizes[kMaxDims];
  sizes[0] = size_;
  sizes[1] = matrix->size(0);
  std::copy(result->sizes().begin() + 1, result->sizes().end(), sizes + 2);
  Object size = make_tuple({sizes, static_cast<size_t>(result->ndim()) + 1});
  return call_op(cached_op("view_sizes", [] {}), {as_object(result.get()), size.get()});
}

Object Batch::call_along_rows(Op& op, PyObject* const* slots) {
  if (!is_tensor(slots[0])) return op.call(slots);  // which refuses it
  static PyObject* const one = PyLong_FromLong(1);
  static PyObject* const last = PyLong_FromLong(-1);
  Tensor* value = batched_value(as_tensor(slots[0]));
  Object rows = Object::borrow(as_object(value));
  if (value->ndim() == 1) rows = with_dims(value, 1);
  if (value->ndim() > 2) rows = call_op(cached_op("flatten", [] {}), {as_object(value), one, last});
  PyObject* args[kMaxArguments] = {rows.get(), one, Py_False};
  std::copy(slots + 1, slots + op.count, args + 3);
  return op.transforms().along->call(args);
}

/// After an error of a batch rule: where that is the interpreter's, of an argument that is not what the rule takes it
/// for, the op is asked, which says what it wants.
static void ask_op(Op& op, PyObject* const* slots) {
  if (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  try {
    op.call(slots);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Type || (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))) {
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(traceback);
      throw;
    }
  }
  PyErr_Restore(type, value, traceback);
}

Object Batch::call_declared(Op& op, PyObject* const* slots) const {
  try {
    return call_with_values(op.transforms().batch.get(), op, slots);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Python) ask_op(op, slots);
    throw;
  }
}

Object Batch::call_rule(Op& op, PyObject* const* slots) {
  if (op.transforms().places) {
    if (Object result = call_by_places(op, slots)) return result;
  }
  if (op.transforms().rows >= 0) {
    if (Object result = call_by_rows(op, slots)) return result;
  }
  if (op.transforms().along) return call_along_rows(op, slots);
  if (op.transforms().batch) {
    Object result = call_declared(op, slots);
    if (result.get() != Py_NotImplemented) return result;
  }
  static PyObject* loop = python_function("adjoint.func._batch_loop", "call_each").take();
  return call_with_values(loop, op, slots);
}

Object Batch::call_with_values(PyObject* function, Op& op, PyObject* const* slots, PyObject* option) const {
  const size_t n = op.arguments.size();
  std::vector<Object> owned;
  std::vector<PyObject*> args = {op_object_of(op)};
  Object size = checked(PyLong_FromLongLong(size_));
  args.push_back(size.get());
  if (option) args.push_back(option);
  Object batched = checked(PyTuple_New(static_cast<Py_ssize_t>(n)));
  args.push_back(batched.get());
  owned.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    owned.push_back(outside(slots[i]));
    args.push_back(owned.back().get());
    PyTuple_SET_ITEM(batched.get(), i, PyBool_FromLong(spreads(slots + i, 1)));
  }
  return checked(call_python(function, args.data(), args.size(), nullptr));
}

void Batch::check_randomness(const Op& op) const {
  if (randomness_ == Randomness::Error)
    fail(
        "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
        "randomness flags on vmap or perform the randomness operation out of vmap (",
        op.shown, "())");
}

Object Batch::draw(Op& op, PyObject* const* slots) {
  check_randomness(op);
  const bool different = randomness_ == Randomness::Different;
  if (!different && !concerns(op, slots)) return op.call(slots);
  Object kind = Object::borrow(different ? Py_True : Py_False);
  static PyObject* drawn = python_function("adjoint.func._batch_random", "draw").take();
  return inside(op, slots, call_with_values(drawn, op, slots, kind.get()), false);
}

Object Batch::inside(const Op& op, PyObject* const* slots, Object result, bool shared) {
  const bool several = PyTuple_Check(result.get());
  if (!several && !is_tensor(result.get())) return result;
  const auto n = static_cast<uint32_t>(several ? PyTuple_GET_SIZE(result.get()) : 1);
  Tensor* source = is_tensor(slots[0]) ? as_tensor(slots[0]) : nullptr;
  if (!several && source && is_batched_at(source, number()) && as_tensor(result.get()) == batched_value(source))
    return Object::borrow(slots[0]);  // the op had nothing to do
  if (!several) {
    TensorPtr shown = shown_inside(op, slots, result.get(), ViewOrigin::Recorded, shared);
    Tensor* output = shown.get();
    if (records(op, slots)) op.record_results(slots, &output, 1);
    return wrap(std::move(shown));
  }
  Object tuple = checked(PyTuple_New(n));
  std::vector<Tensor*> outputs(n);
  for (uint32_t i = 0; i < n; ++i) {
    TensorPtr shown = shown_inside(op, slots, PyTuple_GET_ITEM(result.get(), i), ViewOrigin::MultiOutput, shared);
    outputs[i] = shown.get();
    PyTuple_SET_ITEM(tuple.get(), i, as_object(shown.take()));
  }
  if (records(op, slots)) op.record_results(slots, outputs.data(), n);
  return op.result_type ? struct_sequence_of(op.result_type.get(), tuple.get()) : tuple;
}

bool Batch::records(const Op& op, PyObject* const* slots) const {
  if (!recording() || op.edge_slots.empty()) return false;
  return any_tensor(slots, op.arguments.size(),
                    [&](Tensor* tensor) { return is_batched_at(tensor, number()) && requires_grad(tensor); });
}

TensorPtr Batch::shown_inside(const Op& op, PyObject* const* slots, PyObject* item, ViewOrigin origin,
                              bool shared) const {
  if (!is_tensor(item)) fail(op.shown, ": expected tensors from its batch rule, got ", Py_TYPE(item)->tp_name);
  Tensor* value = as_tensor(item);
  if (!shared && (value->ndim() == 0 || value->size(0) != size_))
    fail(op.shown, ": expected a result with the batch of ", size_, " first from its batch rule, got sizes ",
         to_string(value->sizes()));
  const bool view = op.kind == Op::Kind::View && is_tensor(slots[0]);
  Tensor* source = view ? as_tensor(slots[0]) : nullptr;
  TensorPtr shown = make_batched(TensorPtr::borrow(value), number(), shared, source);
  if (view) mark_view(shown.get(), source, origin);
  return shown;
}

}  // namespace adjoint
