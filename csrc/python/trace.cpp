#include "python/trace.h"

#include <chrono>

#include "cpu/allocator.h"
#include "op/op.h"
#include "tape/hooks.h"
#include "tape/source_line.h"

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

void describe(const TensorPtr* tensors, uint32_t count, std::vector<TracedTensor>& found) {
  for (uint32_t i = 0; i < count; ++i)
    if (tensors[i]) found.push_back(describe(tensors[i].get()));
}

}  // namespace

size_t Trace::begin(TraceEvent event) {
  event.parent = nodes_.empty() ? -1 : static_cast<int64_t>(nodes_.back().event);
  event.thread = thread_;
  event.backward |= !nodes_.empty() || RunningBackward::current();
  event.before = cpu::memory_stats().current;
  events_.push_back(std::move(event));
  events_.back().start = now();
  return events_.size() - 1;
}

void Trace::end(size_t number, bool failed) {
  const int64_t finished = now();
  TraceEvent& event = events_[number];
  event.duration = finished - event.start;
  event.memory = cpu::memory_stats().current - event.before;
  event.failed = failed;
}

size_t Trace::begin_call(std::string name, const Op& op, PyObject* const* slots) {
  TraceEvent event;
  event.name = std::move(name);
  for (size_t i = 0; i < op.arguments.size(); ++i) describe(slots[i], event.inputs);
  constexpr int kDeepest = 16;
  PyCodeObject* inside[kDeepest];
  int depth = kDeepest;
  PyCodeObject* code = adjoint_current_path(&event.instruction, inside, &depth);
  event.code = code_object(code);
  if (!nodes_.empty() && nodes_.back().code == code && nodes_.back().instruction == event.instruction) {
    // A rule of the package: the line is the one that called backward(), which says less than the node's.
    event.code = events_[nodes_.back().event].code;
    event.instruction = events_[nodes_.back().event].instruction;
  } else {
    while (depth > 0) event.within.push_back(code_object(inside[--depth]));
  }
  return begin(std::move(event));
}

Object Trace::call(Op& op, PyObject* const* slots) {
  const size_t number = begin_call(op.shown, op, slots);
  try {
    Object result = op.call(slots);
    end(number, false);
    describe(result.get(), events_[number].outputs);
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
    describe(slots[0], events_[number].outputs);
  } catch (...) {
    end(number, true);
    throw;
  }
}

void Trace::begin_node(const Node& node, const TensorPtr* gradients) {
  TraceEvent event;
  event.name = node.kind->name();
  event.backward = true;
  describe(gradients, node.n_outputs, event.inputs);
  event.code = code_object(node.code);
  event.instruction = node.instruction;
  int instruction = 0;
  PyCodeObject* caller = adjoint_current_code(&instruction);
  const size_t number = begin(std::move(event));
  nodes_.push_back({number, caller, instruction});
}

void Trace::end_node(const Node& node, const TensorPtr* edges) {
  const size_t number = nodes_.back().event;
  nodes_.pop_back();
  end(number, edges == nullptr);
  if (edges) describe(edges, node.n_edges, events_[number].outputs);
}

}  // namespace adjoint
