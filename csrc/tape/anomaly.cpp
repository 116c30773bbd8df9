#include "tape/anomaly.h"

#include <cmath>

#include "core/lock.h"
#include "core/source_line.h"
#include "ops/memory.h"

namespace adjoint {

AnomalyHandlers anomaly_handlers;

namespace {

thread_local Node* applying = nullptr;

/// Which values that are not finite a tensor or number holds.
struct NotFinite {
  bool nan = false;
  bool inf = false;
  void add(double value) {
    nan |= std::isnan(value);
    inf |= std::isinf(value);
  }
  void add(const NotFinite& other) {
    nan |= other.nan;
    inf |= other.inf;
  }
};

NotFinite not_finite(const Tensor* tensor) {
  NotFinite found;
  if (!is_differentiable(tensor->dtype) || !tensor->device.holds_values()) return found;
  TensorPtr here = in_program_memory(const_cast<Tensor*>(tensor));
  TensorPtr dense = contiguous(here.get(), compute_type(tensor->dtype));
  dispatch(dense->dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* values = dense->as<T>();
    for (int64_t i = 0; i < dense->numel(); ++i) {
      auto value = convert<complex128>(values[i]);
      found.add(value.real());
      found.add(value.imag());
    }
  });
  return found;
}

NotFinite not_finite(PyObject* object) {
  NotFinite found;
  if (is_tensor(object)) return not_finite(as_tensor(object));
  if (PyFloat_Check(object)) found.add(PyFloat_AS_DOUBLE(object));
  if (PyComplex_Check(object)) {
    found.add(PyComplex_RealAsDouble(object));
    found.add(PyComplex_ImagAsDouble(object));
  }
  if (PyTuple_Check(object) || PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      found.add(not_finite(PySequence_Fast_GET_ITEM(object, i)));
  }
  return found;
}

std::string ordinal(size_t index) { return std::to_string(index) + "th"; }

}  // namespace

ApplyingNode::ApplyingNode(Node& node)
    : before_(std::exchange(applying, &node)), forward_check_(mode_flags & kAnomalyCheckForward) {
  mode_flags &= ~kAnomalyCheckForward;
}

ApplyingNode::~ApplyingNode() {
  applying = before_;
  mode_flags |= forward_check_;
}

void record_making(Node& node) {
  if (!anomaly_handlers.record) return;
  PyObject* parent = applying ? as_object(applying) : Py_None;
  Object done = Object::steal(call_python(anomaly_handlers.record, as_object(&node), parent));
  if (!done) throw Error(ErrorKind::Python, "");
}

void explain_failure(Node& node) noexcept {
  if (!anomaly_handlers.explain) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Object done = Object::steal(call_python(anomaly_handlers.explain, as_object(&node)));
  // A warning that was turned into an error must not hide the failure itself.
  if (!done) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

void check_gradients(const Node& node, const TensorPtr* gradients) {
  bool check_nan = !(anomaly_flags & kAnomalySkipNan), check_inf = anomaly_flags & kAnomalyCheckInf;
  if (!check_nan && !check_inf) return;
  for (uint32_t i = 0; i < node.n_edges; ++i) {
    if (!gradients[i] || !node.edges()[i].node) continue;
    NotFinite found = not_finite(gradients[i].get());
    bool nan = found.nan && check_nan;
    if (!nan && !(found.inf && check_inf)) continue;
    std::string where = source_line(node);
    fail("Function '", node.kind->name(), "' returned ", nan ? "nan" : "inf", " values in its ", ordinal(i), " output.",
         where.empty() ? "" : " The node was made at " + where + ".");
  }
}

ForwardCheck::ForwardCheck(const char* op, PyObject* const* arguments, size_t count, bool in_place) : op_(op) {
  for (size_t i = 0; i < count; ++i) arguments_.push_back(Object::borrow(arguments[i]));
  if (in_place && count > 0 && is_tensor(arguments[0]))
    arguments_[0] = Object::steal(as_object(clone(as_tensor(arguments[0])).take()));
}

void ForwardCheck::finish(PyObject* result) const {
  if (is_tensor(result)) return check(as_tensor(result), 0);
  if (!PyTuple_Check(result)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i)
    if (is_tensor(PyTuple_GET_ITEM(result, i))) check(as_tensor(PyTuple_GET_ITEM(result, i)), static_cast<size_t>(i));
}

void ForwardCheck::check(const Tensor* result, size_t index) const {
  NotFinite made = not_finite(result);
  if (!made.nan && !made.inf) return;
  NotFinite given;
  for (const Object& argument : arguments_) given.add(not_finite(argument.get()));
  bool nan = made.nan && !given.nan;
  // inf out of nan is not news, and inf out of inf is not either.
  if (!nan && !(made.inf && !given.inf && !given.nan)) return;
  int instruction = 0;
  PyCodeObject* code = adjoint_current_code(&instruction);
  std::string where = source_line(code, instruction);
  std::string statistics;
  if (anomaly_handlers.describe) {
    uint32_t before = std::exchange(mode_flags, kGradDisabled);
    Object values = Object::steal(PyTuple_New(static_cast<Py_ssize_t>(arguments_.size())));
    for (size_t i = 0; values && i < arguments_.size(); ++i)
      PyTuple_SET_ITEM(values.get(), i, Object(arguments_[i]).take());
    Object text = Object::steal(values ? call_python(anomaly_handlers.describe, values.get()) : nullptr);
    mode_flags = before;
    const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (!shown) throw Error(ErrorKind::Python, "");
    statistics = shown;
  }
  fail("Function '", op_, "' returned ", nan ? "nan" : "inf", " values in its ", ordinal(index),
       " output in forward, and none of its inputs held any", where.empty() ? "." : " (at " + where + ").", statistics);
}

}  // namespace adjoint
