#include "op/op.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/mode.h"
#include "core/origin.h"
#include "core/tangent.h"
#include "op/advice.h"
#include "op/creation.h"
#include "op/meta.h"
#include "op/overrides.h"
#include "op/recorded.h"
#include "op/sparse.h"
#include "op/stored.h"
#include "op/transform.h"
#include "ops/memory.h"
#include "tape/anomaly.h"
#include "tape/geometry.h"
#include "tape/history.h"
#include "types/formats.h"
#include "types/struct_sequence.h"
#include "types/types.h"

namespace adjoint {
namespace {

/// Whether something holds of a tensor, or of one in a sequence.
template <class F>
bool holds_for_any(PyObject* object, F of_tensor) {
  if (is_tensor(object)) return of_tensor(as_tensor(object));
  if (!is_sequence(object)) return false;
  PyObject** items = PySequence_Fast_ITEMS(object);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(object),
                     [&](PyObject* item) { return is_tensor(item) && of_tensor(as_tensor(item)); });
}

bool object_requires_grad(PyObject* object) {
  return holds_for_any(object, [](Tensor* tensor) { return requires_grad(tensor); });
}

bool object_has_tangents(PyObject* object) {
  return holds_for_any(object, [](Tensor* tensor) { return has_tangents(tensor); });
}

Object meta_of(PyObject* object) {
  if (!is_sequence(object))
    return is_tensor(object) ? wrap(meta_tensor(as_tensor(object)->shape, as_tensor(object)->dtype))
                             : Object::borrow(object);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  Object metas = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(metas.get(), i, meta_of(PySequence_Fast_GET_ITEM(object, i)).take());
  return metas;
}

}  // namespace

Op::Op(std::string op_name, std::string node, Kind op_kind)
    : NodeKind(std::move(node)), name(std::move(op_name)), kind(op_kind) {}

void Op::mask_edges() {
  edge_mask = 0;
  for (uint8_t slot : edge_slots) edge_mask |= 1u << slot;
}

// ---- Forward

void Op::refuse_operands(PyObject* const* slots, int place) const {
  auto kind = [&](int i) { return is_tensor(slots[i]) ? "Tensor" : Py_TYPE(slots[i])->tp_name; };
  if (!number_slots || n_operands == 1)
    fail(ErrorKind::Type, shown, "(): argument '", PyUnicode_AsUTF8(arguments[place].name.get()), "' (position ",
         place + 1, ") must be Tensor, not ", kind(place), conversion_advice(slots[place], "Tensor"));
  std::string came, expected;
  for (int i = 0; i < n_operands; ++i) {
    const char* separator = i ? ", " : "";
    came += std::string(separator) + kind(i);
    expected += std::string(separator) + (number_slots >> i & 1 ? "Tensor or Number " : "Tensor ");
    expected += PyUnicode_AsUTF8(arguments[i].name.get());
  }
  fail(ErrorKind::Type, shown, "() received an invalid combination of arguments - got (", came, "), but expected (",
       expected, "), at least one of them a Tensor");
}

inline uint32_t Op::read_operands(PyObject* const* slots, Operand* operands, Scalar* params, bool* sparse) const {
  const bool records = recording();
  bool any_tensor = false;
  uint8_t elsewhere = 0;
  uint32_t tracked = 0;
  for (int i = 0; i < n_operands; ++i) {
    PyObject* object = slots[i];
    Scalar scalar;
    if (is_tensor(object)) {
      const Tensor* tensor = as_tensor(object);
      operands[i].set(tensor);
      elsewhere |= static_cast<uint8_t>(tensor->device.type);  // that of the CPU is 0
      if (records) tracked |= uint32_t{requires_grad(tensor)} << i;
      any_tensor = true;
    } else if ((number_slots >> i & 1) && to_scalar(object, &scalar)) {
      operands[i].set(scalar);
    } else {
      refuse_operands(slots, i);
    }
  }
  if (!any_tensor && !numbers_suffice) refuse_operands(slots, 0);
  if (elsewhere && left_to_handler(slots)) [[unlikely]]
    return *sparse = true, 0;
  bool given_params = false;
  for (int i = n_operands; i < count; ++i) {
    const Argument& argument = arguments[i];
    Scalar& param = params[i - n_operands];
    if (slots[i] == argument.default_value.get()) {
      param = argument.default_scalar;
      continue;
    }
    Arg given{slots[i], shown.c_str(), PyUnicode_AsUTF8(argument.name.get())};
    if (object_requires_grad(slots[i])) given.wrong_type("Number");  // no gradient would reach it
    param = given;
    given_params = true;
  }
  if (given_params) ops::check_params(options, operands, n_operands, params, count - n_operands);
  return tracked & edge_mask;
}

uint32_t Op::recorded_slots(PyObject* const* slots) const {
  if (!recording()) return 0;
  uint32_t recorded = 0;
  for (uint8_t slot : edge_slots) {
    PyObject* object = slots[slot];
    // Only the argument that is a sequence of tensors has edges for its items.
    if (is_tensor(object) ? requires_grad(as_tensor(object)) : slot == list_slot && object_requires_grad(object))
      recorded |= 1u << slot;
  }
  return recorded;
}

Op* Op::simpler_power(PyObject* const* slots) const {
  PyObject* exponent = slots[1];
  if (!is_tensor(slots[0]) || !is_differentiable(as_tensor(slots[0])->dtype)) return nullptr;
  bool real = PyFloat_CheckExact(exponent);
  if (!real && !PyLong_CheckExact(exponent)) return nullptr;
  double value = real ? PyFloat_AS_DOUBLE(exponent) : PyLong_AsDouble(exponent);
  if (value == -1.0 && PyErr_Occurred()) {  // too large for any op: the general one says so
    PyErr_Clear();
    return nullptr;
  }
  return value == 2.0 ? square : value == 3.0 ? cube : value == 0.5 ? root : value != 0.0 ? power : nullptr;
}

Op& Op::variant(PyObject* const* slots) {
  // Without a rule it is a number that may be left out: the bounds of random_().
  for (uint8_t slot : variant_slots)
    if (!is_tensor(slots[slot]) && (rules[slot].differentiable || slots[slot] != Py_None)) return *number_variant[slot];
  return *this;
}

Op& Op::chosen(PyObject* const* slots) {
  if (power) {
    if (Op* simpler = simpler_power(slots)) return simpler->variant(slots);
  }
  return variant(slots);
}

Object Op::call(PyObject* const* slots) {
  if (mode_flags & (kTransformed | kAutocast | kAnomalyCheckForward)) [[unlikely]]
    return call_in_mode(slots);
  if (!power && variant_slots.empty()) return run(slots);
  return chosen(slots).run(slots);
}

Object Op::call_in_mode(PyObject* const* slots) {
  if (mode_flags & kTransformed) {
    // Transforms know nothing of layouts: they see the ops that a handler calls.
    const bool handled = sparse_in_use && !takes_sparse && any_sparse(slots, arguments.size());
    if (!handled) {
      if (RunningTransform transform; transform) return transform->call(*this, slots);
    }
  }
  Op& op = chosen(slots);
  if ((mode_flags & kAutocast) && op.autocast != Autocast::None)
    return op.call(AutocastCall(op.autocast, slots, op.arguments.size()).args());
  if (!(mode_flags & kAnomalyCheckForward)) return op.run(slots);
  ForwardCheck watch(op.name.c_str(), slots, op.arguments.size(), false);
  Object result = op.run(slots);
  watch.finish(result.get());
  return result;
}

Object Op::call_elementwise(PyObject* const* slots) {
  Operand operands[kernels::kMaxInputs];
  Scalar params[kMaxArguments];
  bool sparse = false;
  const uint32_t recorded = read_operands(slots, operands, params, &sparse);
  if (sparse) [[unlikely]]
    return call_sparse(*this, slots);
  TensorPtr result = ops::elementwise(*kernel, options, operands, n_operands, params);
  if (recorded && is_differentiable(result->dtype)) {
    NodePtr node = record(slots, recorded, 1);
    Tensor* output = result.get();
    save_outputs(*node, recorded, &output);
    set_output_meta(*node, 0, output);
    output->grad_fn = node.take();
  }
  return wrap(std::move(result));
}

Object Op::run_forward(PyObject* const* slots) const {
  if (glue) return glue(slots);
  if (!forward) fail(shown, ": the op has nothing but an in-place form; call ", shown_in_place, "()");
  // In the caller's modes, which a signal handler may ask for: what it gets has no history, so nothing is recorded.
  PyObject* plain[kMaxArguments];
  Object owned[kMaxArguments];
  size_t n = arguments.size();
  for (size_t i = 0; i < n; ++i) {
    plain[i] = slots[i];
    if (!recording() || !is_tensor(slots[i]) || !requires_grad(as_tensor(slots[i]))) continue;
    owned[i] = wrap(alias(as_tensor(slots[i])));
    plain[i] = owned[i].get();
  }
  OverridesOff plain_ops(true);
  Object result = checked(call_python(forward.get(), plain, n, nullptr));
  for (size_t i = 0; i < n; ++i)
    if (owned[i] && result.get() == plain[i]) return Object::borrow(slots[i]);
  return result;
}

void Op::refuse_type(DType dtype) const {
  Object loop = checked(PyObject_GetAttrString(declaration.get(), "loop"));
  const char* known = shown.c_str() + shown.starts_with('_');
  fail_not_implemented(loop.get() == Py_None ? known : PyUnicode_AsUTF8(loop.get()), dtype);
}

Object Op::call_special(PyObject* const* slots) {
  if (any_elsewhere(slots, arguments.size()) && left_to_handler(slots)) return call_sparse(*this, slots);
  // Views, and what is written in Python, only call other ops or change the geometry.
  return kind == Kind::Plain && glue ? call_widened(*this, slots) : Object();
}

Object Op::call_plain(PyObject* const* slots) {
  if (any_special(slots, arguments.size())) [[unlikely]]
    if (Object result = call_special(slots)) return result;
  Object result = run_forward(slots);
  bool several = PyTuple_Check(result.get());
  if (!several && !is_tensor(result.get())) return result;
  PyObject* single = result.get();
  PyObject** items = several ? &PyTuple_GET_ITEM(result.get(), 0) : &single;
  auto n = static_cast<uint32_t>(several ? PyTuple_GET_SIZE(result.get()) : 1);
  // An op that had nothing to do gives its argument back: there is nothing to record.
  if (!several && single == slots[0]) return result;
  if (forward) {
    for (uint32_t i = 0; i < n; ++i) forget_base(as_tensor(items[i]));
  }
  if (kind == Kind::View && is_tensor(slots[0])) {
    ViewOrigin origin = several ? ViewOrigin::MultiOutput : ViewOrigin::Recorded;
    for (uint32_t i = 0; i < n; ++i) mark_view(as_tensor(items[i]), as_tensor(slots[0]), origin);
  }
  // The items are tensors, and a Tensor* is a PyObject*.
  record_results(slots, reinterpret_cast<Tensor**>(items), n);
  if (several && result_type) return struct_sequence_of(result_type.get(), result.get());
  return result;
}

void Op::record_results(PyObject* const* slots, Tensor* const* outputs, uint32_t n) const {
  uint32_t recorded = recorded_slots(slots);
  if (!recorded) return;
  if (std::none_of(outputs, outputs + n, [](Tensor* output) { return is_differentiable(output->dtype); })) return;
  NodePtr node = record(slots, recorded, n);
  save_outputs(*node, recorded, outputs);
  for (uint32_t i = 0; i < n; ++i) {
    bool differentiable =
        output_is_differentiable.empty() || (i < output_is_differentiable.size() && output_is_differentiable[i]);
    if (differentiable && is_differentiable(outputs[i]->dtype)) {
      set_history(outputs[i], node.get(), i);
    } else {
      set_output_meta(*node, i, outputs[i]);
    }
  }
}

/// Whether a tensor of another layout is to be made, or one like a sparse one.
static bool makes_sparse(PyObject* layout, PyObject* const* models, size_t n) {
  return (layout != Py_None && is_layout(layout) && !is_strided(layout)) || (sparse_in_use && any_sparse(models, n));
}

Object Op::call_creation(PyObject* const* slots) {
  if (makes_sparse(slots[creation + kLayout], slots, creation)) [[unlikely]]
    return call_sparse(*this, slots);
  Object result = glue(slots);
  if (slots[creation + kPinMemory] == Py_True) [[unlikely]]
    result = Object::steal(as_object(pinned(as_tensor(result.get())).take()));
  Tensor* tensor = as_tensor(result.get());
  if (mode_flags & kInferenceMode) tensor->flags |= kInferenceTensor;
  if (slots[creation + kRequiresGradSlot] == Py_True) tensor->flags |= kRequiresGrad;
  if (!edge_slots.empty()) record_results(slots, &tensor, 1);
  return result;
}

Object Op::call_composed(PyObject* const* slots) {
  if (any_special(slots, arguments.size())) [[unlikely]]
    if (Object result = call_special(slots)) return result;
  return glue(slots);
}

/// Calls f for a tensor, or for each tensor of a sequence.
template <class F>
static void for_each_tensor(PyObject* object, F f) {
  if (is_tensor(object)) return f(as_tensor(object));
  if (!is_sequence(object)) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    if (PyObject* item = PySequence_Fast_GET_ITEM(object, i); is_tensor(item)) f(as_tensor(item));
}

bool Op::left_to_handler(PyObject* const* slots) const {
  if (any_sparse(slots, arguments.size())) return !takes_sparse;
  if (kind == Kind::Elementwise || any_on_device(slots, arguments.size())) check_devices(slots);
  return false;
}

void Op::check_devices(PyObject* const* slots) const {
  if (!number_of_name_) number_of_name_ = name_number(shown.substr(shown.starts_with('_')));
  running_op = number_of_name_;
  for (size_t i = 0; i < arguments.size(); ++i) refuse_without_shape(shown, slots[i]);
  if (crosses || kind == Kind::Elementwise) return;
  const Tensor* first = nullptr;
  const bool on_meta = any_on_meta(slots, arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    for_each_tensor(slots[i], [&](const Tensor* tensor) {
      // A kernel cannot reach the memory of another device: only what no kernel gets but as a number may be anywhere.
      if (tensor->ndim() == 0 && !on_meta && !(memory >> i & 1)) return;
      // On meta nothing is read, and numbers and indices of the CPU go there.
      const bool number = on_meta && (tensor->ndim() == 0 || !is_differentiable(tensor->dtype));
      if (tensor->device == DeviceType::Cpu && number) return;
      if (first && tensor->device != first->device) refuse_devices(name.c_str(), tensor->device, first->device);
      first = tensor;
    });
  }
  // Whatever is first says where the result is.
  if (is_tensor(slots[0]) && first && as_tensor(slots[0])->device != first->device)
    refuse_devices(name.c_str(), first->device, as_tensor(slots[0])->device);
}

// ---- In place, and out=

void check_out_overlap(PyObject* out, PyObject* result, PyObject* argument, Allowed allowed) {
  auto check_one = [&](PyObject* target, PyObject* value) {
    if (!is_tensor(target) || !is_tensor(value)) return;
    for_each_tensor(argument,
                    [&](Tensor* read) { check_overlap(as_tensor(target), read, allowed, as_tensor(value)->sizes()); });
  };
  if (!is_sequence(out)) return check_one(out, result);
  if (!PyTuple_Check(result)) return;
  for (Py_ssize_t i = 0; i < std::min(PySequence_Fast_GET_SIZE(out), PyTuple_GET_SIZE(result)); ++i)
    check_one(PySequence_Fast_GET_ITEM(out, i), PyTuple_GET_ITEM(result, i));
}

void Op::check_out(PyObject* const* slots, PyObject* out, PyObject* result) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if ((apart | whole) >> i & 1)
      check_out_overlap(out, result, slots[i], apart >> i & 1 ? Allowed::Nothing : Allowed::Whole);
    if (kind == Kind::Elementwise && slots[i] == out && is_tensor(result))
      ops::check_in_place_result(as_tensor(out), as_tensor(result)->sizes(), as_tensor(result)->dtype);
  }
}

/// Operands that overlap the target without being it are read while they are overwritten: torch refuses them when it
/// can tell (dense tensors); here the others are copied first.
static bool must_be_copied(const Tensor* target, const Tensor* operand) {
  check_overlap(target, operand, Allowed::Whole);
  return overlap(target, operand) == Overlap::Unknown;
}

NodePtr Op::record_change(PyObject* const* slots, uint32_t recorded) const {
  NodePtr node = record(slots, recorded, 1);
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].what != SavedItem::What::Argument || items[i].index != 0 || !node->saved()[i].is_tensor()) continue;
    const bool functional = mode_flags & kFunctional;
    TensorPtr before = functional ? clone_recorded(as_tensor(slots[0])) : clone(as_tensor(slots[0]));
    if (functional) copy_tangents(before.get(), as_tensor(slots[0]));
    node->saved()[i].save_tensor(before.get(), *node);
  }
  return node;
}

void Op::call_in_place(PyObject* const* slots) {
  if (mode_flags & (kTransformed | kAnomalyCheckForward)) [[unlikely]]
    return change_in_mode(slots);
  variant(slots).change(slots);
}

void Op::change_in_mode(PyObject* const* slots) {
  if (mode_flags & kTransformed) {
    if (sparse_in_use && any_sparse(slots, arguments.size())) return change_sparse(variant(slots), slots);
    if (RunningTransform transform; transform) return transform->change(*this, slots);
  }
  Op& op = variant(slots);
  if (!(mode_flags & kAnomalyCheckForward)) return op.change(slots);
  ForwardCheck watch(op.shown_in_place.c_str(), slots, op.arguments.size(), true);
  op.change(slots);
  watch.finish(slots[0]);
}

inline uint32_t Op::begin_change(PyObject* const* slots) const {
  Tensor* target = as_tensor(slots[0]);
  uint32_t recorded = is_differentiable(target->dtype) ? recorded_slots(slots) : 0;
  check_inplace(target, shown_in_place.c_str(), recorded || requires_grad(target));
  return recorded;
}

inline void Op::end_change(PyObject* const* slots, NodePtr node, uint32_t recorded) const {
  Tensor* target = as_tensor(slots[0]);
  bump_version(target, shown_in_place.c_str());
  if (mode_flags & kFunctional) [[unlikely]]
    AfterChange::run(target);
  if (!node) return;
  save_outputs(*node, recorded, &target);
  set_output_meta(*node, 0, target);
  rebase_history(target, node.get());
}

void Op::change(PyObject* const* slots) {
  if (!is_tensor(slots[0])) Arg{slots[0], shown.c_str(), "input"}.wrong_type("Tensor");
  Tensor* target = as_tensor(slots[0]);
  const bool special = any_special(slots, arguments.size());
  const bool elsewhere = special && any_elsewhere(slots, arguments.size());
  if (elsewhere && any_sparse(slots, arguments.size())) [[unlikely]]
    return change_sparse(*this, slots);
  uint32_t recorded = begin_change(slots);
  if (kind == Kind::View) {
    Object view = run_forward(slots);
    NodePtr node = recorded ? record(slots, recorded, 1) : NodePtr();
    return take_geometry(target, as_tensor(view.get()), shown_in_place.c_str(), node.get());
  }
  if (typed_out >= 0 && slots[typed_out] != Py_None && to_dtype(slots[typed_out]) != target->dtype)
    fail("Bad in-place call: input tensor dtype ", info(target->dtype).c_name, " and output tensor dtype ",
         info(to_dtype(slots[typed_out])).c_name, " should match");
  if (!writes_one_value) check_writable(target);
  if (elsewhere && any_on_device(slots, arguments.size())) [[unlikely]]
    check_devices(slots);
  if (special && kind == Kind::Plain && (glue || glue_in_place)) [[unlikely]]
    check_stored(*this, slots);
  NodePtr node = kind == Kind::Elementwise ? change_by_kernel(slots, recorded)
                 : glue_in_place           ? change_by_native(slots, recorded)
                                           : change_by_result(slots, recorded);
  end_change(slots, std::move(node), recorded);
}

void Op::change_through(Transform& transform, PyObject* const* slots, const std::function<void()>& write) {
  const uint32_t recorded = begin_change(slots);
  NodePtr node;
  if (recorded) {
    Awake copies(transform);
    node = record_change(slots, recorded);
  }
  write();
  {
    Awake tangents(transform);
    AfterChange::run(as_tensor(slots[0]));
  }
  end_change(slots, std::move(node), recorded);
}

NodePtr Op::change_by_kernel(PyObject* const* slots, uint32_t recorded) {
  Tensor* target = as_tensor(slots[0]);
  Operand operands[kernels::kMaxInputs];
  Scalar params[kMaxArguments];
  bool sparse = false;
  read_operands(slots, operands, params, &sparse);
  NodePtr node = recorded ? record_change(slots, recorded) : NodePtr();
  // A pack hook may have given an operand other memory.
  if (node && (mode_flags & kSavedTensorHooks)) read_operands(slots, operands, params, &sparse);
  if (sparse) fail(shown_in_place, ": a pack hook has made an argument sparse");
  TensorPtr copies[kernels::kMaxInputs];
  for (int i = 1; i < n_operands; ++i) {
    if (operands[i].is_number() || !must_be_copied(target, as_tensor(slots[i]))) continue;
    copies[i] = clone(as_tensor(slots[i]));
    operands[i].set(copies[i].get());
  }
  ops::elementwise_into(*kernel, options, operands, n_operands, params, target);
  return node;
}

void Op::check_apart(PyObject* const* slots) const {
  if (!(apart | whole)) return;
  const Tensor* target = as_tensor(slots[0]);
  for (uint32_t read = (apart | whole) & ~1u; read; read &= read - 1) {
    const int i = std::countr_zero(read);
    for_each_tensor(slots[i], [&](Tensor* tensor) {
      check_overlap(target, tensor, apart >> i & 1 ? Allowed::Nothing : Allowed::Whole);
    });
  }
}

NodePtr Op::change_by_native(PyObject* const* slots, uint32_t recorded) {
  check_apart(slots);
  NodePtr node = recorded ? record_change(slots, recorded) : NodePtr();
  glue_in_place(slots);
  return node;
}

NodePtr Op::change_by_result(PyObject* const* slots, uint32_t recorded) {
  Tensor* target = as_tensor(slots[0]);
  check_apart(slots);
  AutocastOff as_given;
  Object result = run_forward(slots);
  if (!is_tensor(result.get())) fail(shown_in_place, ": the op has no single result to write in place");
  Tensor* value = as_tensor(result.get());
  ops::check_in_place_result(target, value->sizes(), value->dtype);
  NodePtr node = recorded ? record_change(slots, recorded) : NodePtr();
  // A pack hook may have given the target other sizes.
  if (node && (mode_flags & kSavedTensorHooks)) ops::check_in_place_result(target, value->sizes(), value->dtype);
  if (value != target) copy_into(value, target);
  return node;
}

void refuse_out(const char* op, PyObject* object) {
  refuse_without_shape(op, object);
  if ((mode_flags & kFunctional) && object_has_tangents(object))
    fail(ErrorKind::NotImplemented, "Trying to use forward AD with ", op,
         "_out that does not support it because it is an out= function; assign the result instead of out=");
  if (recording() && object_requires_grad(object))
    fail(op,
         "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
         "requires grad. Assign the result instead, or detach() the arguments.");
}

Object write_results(const char* op, PyObject* out, PyObject* result, const OutDemands& demands) {
  if (!is_sequence(out)) {
    if (!is_tensor(out)) Arg{out, op, "out"}.wrong_type("Tensor");
    if (!is_tensor(result)) fail(ErrorKind::Type, op, "(): out= must be a tuple of tensors for several results");
    check_out_type(demands, as_tensor(out)->dtype, as_tensor(result)->dtype, 0);
    write_out(op, as_tensor(out), as_tensor(result));
    return Object::borrow(out);
  }
  if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != PySequence_Fast_GET_SIZE(out))
    fail(ErrorKind::Type, op, "(): expected out= with as many tensors as there are results");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
    PyObject* target = PySequence_Fast_GET_ITEM(out, i);
    if (!is_tensor(target)) Arg{target, op, "out"}.wrong_type("tuple of Tensors");
    check_out_type(demands, as_tensor(target)->dtype, as_tensor(PyTuple_GET_ITEM(result, i))->dtype,
                   static_cast<int>(i));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i)
    write_out(op, as_tensor(PySequence_Fast_GET_ITEM(out, i)), as_tensor(PyTuple_GET_ITEM(result, i)));
  // The targets under the names of the results.
  if (PyTuple_CheckExact(result)) return Object::borrow(out);
  return checked(call_python(reinterpret_cast<PyObject*>(Py_TYPE(result)), out));
}

Object Op::call_out(PyObject* const* slots, PyObject* out) {
  for (uint8_t slot : edge_slots) refuse_out(shown.c_str(), slots[slot]);
  refuse_out(shown.c_str(), out);
  if (!is_sequence(out) && !is_tensor(out)) Arg{out, shown.c_str(), "out"}.wrong_type("Tensor");
  AutocastOff as_given;
  if (creation >= 0) check_creation_out(shown.c_str(), slots + creation, out);
  PyObject* typed[kMaxArguments];
  if (typed_out >= 0 && slots[typed_out] == Py_None && is_tensor(out)) {
    std::copy(slots, slots + arguments.size(), typed);
    typed[typed_out] = dtype_object(as_tensor(out)->dtype);
    slots = typed;
  }
  Object result = call(slots);
  if (is_tensor(out) && is_tensor(result.get()))
    check_out_type(out_demands, as_tensor(out)->dtype, as_tensor(result.get())->dtype, 0);
  check_out(slots, out, result.get());
  Object written = write_results(shown.c_str(), out, result.get(), out_demands);
  if (creation >= 0 && !as_tensor(out)->grad_fn)
    as_tensor(out)->flags |= as_tensor(result.get())->flags & kRequiresGrad;
  return written;
}

// ---- Recording

uint32_t Op::used_items(uint32_t recorded) const {
  uint32_t used = 0;
  for (int slot = 0; recorded; ++slot, recorded >>= 1)
    if (recorded & 1) used |= slot_items[slot];
  return used;
}

/// A Python number.
static Object number_object(const Scalar& scalar) {
  if (scalar.beyond) return checked(PyLong_FromUnsignedLongLong(scalar.to<uint64_t>()));
  switch (scalar.category) {
    case Category::Bool: return checked(PyBool_FromLong(scalar.integer != 0));
    case Category::Integer: return checked(PyLong_FromLongLong(scalar.integer));
    case Category::Float: return checked(PyFloat_FromDouble(scalar.real));
    default: return checked(PyComplex_FromDoubles(scalar.real, scalar.imaginary));
  }
}

void Op::save_argument(Node& node, uint32_t item, PyObject* argument) const {
  SavedValue& value = node.saved()[item];
  if (PyLong_CheckExact(argument)) {  // a dimension, as a rule
    value.save_object(argument);
  } else if (is_tensor(argument) && kind == Kind::Elementwise && items[item].index >= n_operands) {
    // alpha=torch.tensor(3.): a number, by the value that it has now.
    value.save_object(number_object(Arg{argument, shown.c_str(), items[item].name.c_str()}).get());
  } else if (is_tensor(argument)) {
    value.save_tensor(as_tensor(argument), node);
  } else if (PyBool_Check(argument) && kind == Kind::Elementwise) {
    // As an integer: rules compute with it, and bools cannot be subtracted.
    value.save_object(checked(PyLong_FromLong(argument == Py_True)).get());
  } else if (is_sequence(argument)) {
    // As a tuple: the caller may change a list later.
    Object tuple = checked(PySequence_Tuple(argument));
    PyObject** items_of = PySequence_Fast_ITEMS(tuple.get());
    if (std::any_of(items_of, items_of + PyTuple_GET_SIZE(tuple.get()), is_tensor)) {
      value.save_list(tuple.get(), node);
    } else {
      value.save_object(tuple.get());
    }
  } else {
    value.save_object(argument);
  }
}

void Op::check_differentiable(uint32_t recorded) const {
  // An op without any rule says so when the gradient is asked for, as in torch.
  if (std::ranges::none_of(rules, &Rule::differentiable)) return;
  for (uint8_t slot : edge_slots)
    if ((recorded & ~differentiable) >> slot & 1)
      fail("The function '", name.c_str() + name.starts_with('_'), "' is not differentiable with respect to argument '",
           PyUnicode_AsUTF8(arguments[slot].name.get()),
           "'. This input cannot have requires_grad True; detach() it if no gradient is wanted");
}

NodePtr Op::record(PyObject* const* slots, uint32_t recorded, uint32_t n_outputs) const {
  if (recorded & ~differentiable & ~(list_slot >= 0 ? 1u << list_slot : 0u)) [[unlikely]]
    check_differentiable(recorded);
  auto n_edges = static_cast<uint32_t>(edge_slots.size());
  if (list_slot >= 0) n_edges += static_cast<uint32_t>(PySequence_Fast_GET_SIZE(slots[list_slot])) - 1;
  NodePtr node = make_node(*this, n_outputs, n_edges, static_cast<uint32_t>(items.size()));
  Edge* edge = node->edges();
  for (uint8_t slot : edge_slots) {
    PyObject* object = slots[slot];
    if (slot == list_slot) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i, ++edge) {
        PyObject* item = PySequence_Fast_GET_ITEM(object, i);
        if (is_tensor(item)) *edge = input_edge(as_tensor(item));
      }
      continue;
    }
    if (recorded >> slot & 1) *edge = input_edge(as_tensor(object));
    ++edge;
  }
  uint32_t used = used_items(recorded) & ~output_items;
  for (uint32_t i = 0; used >> i; ++i) {
    if (!(used >> i & 1)) continue;
    PyObject* argument = slots[items[i].index];
    if (items[i].what == SavedItem::What::Argument) {
      save_argument(*node, i, argument);
    } else if (is_tensor(argument)) {
      node->saved()[i].save_meta(as_tensor(argument));
    } else {
      node->saved()[i].save_object(meta_of(argument).get());
    }
  }
  return node;
}

void Op::save_output_again(Node& node, Tensor* output) const {
  if (node.kind != this || node.released()) return;
  for (uint32_t i = 0; i < items.size(); ++i)
    if (items[i].what == SavedItem::What::Output && items[i].index == output->output_nr && node.saved()[i].is_tensor())
      node.saved()[i].save_tensor(output, node);
}

void Op::save_outputs(Node& node, uint32_t recorded, Tensor* const* outputs) const {
  if (!output_items) return;
  uint32_t used = used_items(recorded) & output_items;
  for (uint32_t i = 0; used >> i; ++i) {
    if (!(used >> i & 1)) continue;
    if (items[i].what == SavedItem::What::Output) node.saved()[i].save_tensor(outputs[items[i].index], node);
    if (items[i].what == SavedItem::What::OutputMeta) node.saved()[i].save_meta(outputs[items[i].index]);
  }
}

}  // namespace adjoint
