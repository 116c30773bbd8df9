#include "python/trace.h"

#include <algorithm>
#include <chrono>

#include "core/source_line.h"
#include "cpu/allocator.h"
#include "op/op.h"
#include "python/module_calls.h"
#include "tape/hooks.h"

namespace adjoint {
namespace {

int64_t now() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Object code_object(PyCodeObject* code) { return Object::borrow(reinterpret_cast<PyObject*>(code)); }

TracedTensor describe(const Tensor* tensor) { return {ShapePtr::borrow(tensor->shape), tensor->dtype}; }

/// A tensor, or the tensors of a sequence.
void describe(PyObject* object, std::vector<TracedTensor>& found) {
  if (is_tensor(object)) return found.push_back(describe(as_tensor(object)));
  if (!is_sequence(object)) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    if (PyObject* item = PySequence_Fast_GET_ITEM(object, i); is_tensor(item))
      found.push_back(describe(as_tensor(item)));
}

bool is_plain(PyObject* object) {
  return object == Py_None || PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object);
}

/// An argument, where it keeps nothing alive that a program would miss: a number, a name, or a tuple of them.
Object value_of(PyObject* object) {
  bool plain = is_plain(object);
  if (PyTuple_Check(object)) {
    PyObject** items = PySequence_Fast_ITEMS(object);
    plain = std::all_of(items, items + PyTuple_GET_SIZE(object), is_plain);
  }
  return Object::borrow(plain ? object : Py_None);
}

/// The arguments of a call; `full`: also which of them are tensors, and the values of the others.
void describe(PyObject* const* arguments, size_t count, bool full, TraceEvent& event) {
  for (size_t i = 0; i < count; ++i) {
    const size_t before = event.inputs.size();
    describe(arguments[i], event.inputs);
    const int found = static_cast<int>(event.inputs.size() - before);
    if (full)
      event.arguments.push_back(is_tensor(arguments[i]) ? TraceEvent::kTensor : found ? found : TraceEvent::kOther);
  }
  if (!full) return;
  Object values = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(
        values.get(), static_cast<Py_ssize_t>(i),
        (event.arguments[i] == TraceEvent::kOther ? value_of(arguments[i]) : Object::borrow(Py_None)).take());
  event.values = std::move(values);
}

void describe(const TensorPtr* tensors, uint32_t count, std::vector<TracedTensor>& found) {
  for (uint32_t i = 0; i < count; ++i)
    if (tensors[i]) found.push_back(describe(tensors[i].get()));
}

}  // namespace

size_t Trace::begin(TraceEvent event) {
  event.parent = open_.empty() ? -1 : static_cast<int64_t>(open_.back().event);
  event.thread = thread_;
  event.backward = event.backward || RunningBackward::current();
  event.before = cpu::memory_stats().current;
  events_.push_back(std::move(event));
  events_.back().start = now();
  return events_.size() - 1;
}

void Trace::end(size_t number, bool failed) noexcept {
  const int64_t finished = now();
  TraceEvent& event = events_[number];
  event.duration = finished - event.start;
  event.memory = cpu::memory_stats().current - event.before;
  event.failed = failed;
}

size_t Trace::begin_call(std::string name, const Op& op, PyObject* const* slots) {
  TraceEvent event;
  event.name = std::move(name);
  describe(slots, op.arguments.size(), detail_ == Detail::Full, event);
  constexpr int kDeepest = 16;
  PyCodeObject* inside[kDeepest];
  int depth = kDeepest;
  PyCodeObject* code = adjoint_current_path(&event.instruction, inside, &depth);
  event.code = code_object(code);
  if (PyObject* module = python::running_module()) event.module = checked(PyWeakref_NewRef(module, nullptr));
  const bool in_node = !open_.empty() && !open_.back().span;
  if (in_node && open_.back().code == code && open_.back().instruction == event.instruction) {
    // A rule of the package: the line is the one that called backward(), which says less than the node's.
    event.code = events_[open_.back().event].code;
    event.instruction = events_[open_.back().event].instruction;
  } else {
    while (depth > 0) event.within.push_back(code_object(inside[--depth]));
  }
  return begin(std::move(event));
}

/// What the op gave, and the node that it recorded, unless it gave an argument back.
void Trace::end_call(size_t number, PyObject* result, PyObject* const* slots, size_t count) {
  TraceEvent& event = events_[number];
  describe(result, event.outputs);
  if (std::find(slots, slots + count, result) != slots + count) return;
  PyObject* first = result;
  if (is_sequence(result)) first = PySequence_Fast_GET_SIZE(result) ? PySequence_Fast_GET_ITEM(result, 0) : nullptr;
  if (first && is_tensor(first) && as_tensor(first)->grad_fn) event.sequence = as_tensor(first)->grad_fn->sequence;
}

Object Trace::call(Op& op, PyObject* const* slots) {
  const size_t number = begin_call(op.shown, op, slots);
  try {
    Object result = op.call(slots);
    end(number, false);
    end_call(number, result.get(), slots, op.arguments.size());
    return result;
  } catch (...) {
    end(number, true);
    throw;
  }
}

void Trace::change(Op& op, PyObject* const* slots) {
  const size_t number = begin_call(op.shown_in_place, op, slots);
  try {
    op.call_in_place(slots);
    end(number, false);
    end_call(number, slots[0], nullptr, 0);
  } catch (...) {
    end(number, true);
    throw;
  }
}

void Trace::begin_node(const Node& node, const TensorPtr* gradients) {
  TraceEvent event;
  event.name = node.kind->name();
  event.backward = true;
  event.kind = TraceEvent::Kind::Node;
  if (node.sequence != kAccumulateSequence) event.sequence = node.sequence;
  describe(gradients, node.n_outputs, event.inputs);
  event.code = code_object(node.code);
  event.instruction = node.instruction;
  int instruction = 0;
  PyCodeObject* caller = adjoint_current_code(&instruction);
  const size_t number = begin(std::move(event));
  open_.push_back({number, caller, instruction, 0});
}

void Trace::end_node(const Node& node, const TensorPtr* edges) {
  // Spans that an error has left open end with the node; a node that close() has ended is gone.
  while (!open_.empty() && open_.back().span) end_span(open_.back().span);
  if (open_.empty()) return;
  const size_t number = open_.back().event;
  open_.pop_back();
  end(number, edges == nullptr);
  if (edges) describe(edges, node.n_edges, events_[number].outputs);
}

void Trace::begin_span(uint64_t number, const Span& span) {
  TraceEvent event;
  event.name = span.name;
  event.kind = span.kind == Span::Kind::Named    ? TraceEvent::Kind::Named
               : span.kind == Span::Kind::Custom ? TraceEvent::Kind::Custom
                                                 : TraceEvent::Kind::Function;
  describe(span.arguments, span.count, true, event);
  open_.push_back({begin(std::move(event)), nullptr, 0, number});
}

void Trace::end_span(uint64_t number) noexcept {
  auto place = std::ranges::find(open_, number, &Open::span);
  if (place == open_.end()) return;
  end(place->event, false);
  open_.erase(place);
}

void Trace::close() {
  for (; !open_.empty(); open_.pop_back()) end(open_.back().event, false);
}

}  // namespace adjoint
