// A log of the ops that a thread calls: the transform behind adjoint.inspect.trace().
#pragma once

#include <string>
#include <vector>

#include "op/transform.h"

namespace adjoint {

struct TracedTensor {
  ShapePtr shape;
  DType dtype;
};

/// A call of an op, or a node that backward has applied.
struct TraceEvent {
  std::string name;
  std::vector<TracedTensor> inputs, outputs;
  Object code;                 ///< of the user's line, or null ...
  int instruction = 0;         ///< ... and the byte offset in it
  std::vector<Object> within;  ///< code of the package's functions between that line and the op, outermost first
  int64_t start = 0;           ///< nanoseconds
  int64_t duration = 0;
  int64_t before = 0;   ///< bytes in use then
  int64_t memory = 0;   ///< bytes more in use at the end; negative where more were freed
  int64_t parent = -1;  ///< the number of the node whose rule has called the op
  unsigned long thread = 0;
  bool backward = false;
  bool failed = false;
};

/// Note [Traces]: an op is one event, with all that it does inside, because a transform rests meanwhile; a composite
/// appears as the ops that it calls; and a node of backward contains those that its rule calls, at the line that made
/// the node, unless the rule is a program's own and has lines itself.
class Trace final : public Transform {
 public:
  Object call(Op& op, PyObject* const* slots) override;
  void change(Op& op, PyObject* const* slots) override;
  void begin_node(const Node& node, const TensorPtr* gradients) override;
  void end_node(const Node& node, const TensorPtr* edges) override;

  /// In the order in which they began. Building Python objects of them may run code that adds to them: copy an event.
  const std::vector<TraceEvent>& events() const { return events_; }
  /// The system's number of the thread that the events are of.
  void set_thread(unsigned long thread) { thread_ = thread; }

 private:
  struct OpenNode {
    size_t event;
    PyCodeObject* code;  ///< the user's line that called backward (borrowed: its frame is there until the node ends)
    int instruction;
  };
  size_t begin_call(std::string name, const Op& op, PyObject* const* slots);
  size_t begin(TraceEvent event);
  void end(size_t number, bool failed);

  std::vector<TraceEvent> events_;
  std::vector<OpenNode> nodes_;  ///< being applied, innermost last
  unsigned long thread_ = 0;
};

}  // namespace adjoint
