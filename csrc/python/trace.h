// A log of the ops that a thread calls: the transform behind adjoint.inspect.trace().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "op/transform.h"

namespace adjoint {

struct TracedTensor {
  ShapePtr shape;
  DType dtype;
};

/// A call of an op, a node that backward has applied, or a span (see op/transform.h).
struct TraceEvent {
  enum class Kind : uint8_t { Op, Node, Function, Custom, Named };
  std::string name;
  std::vector<TracedTensor> inputs, outputs;
  Object code;                 ///< of the user's line, or null ...
  int instruction = 0;         ///< ... and the byte offset in it
  std::vector<Object> within;  ///< code of the package's functions between that line and the op, outermost first
  Object module;               ///< weak reference to the module whose forward called the op, or null
  int64_t start = 0;           ///< nanoseconds
  int64_t duration = 0;
  int64_t before = 0;   ///< bytes in use then
  int64_t memory = 0;   ///< bytes more in use at the end; negative where more were freed
  int64_t parent = -1;  ///< the number of the node whose rule has called the op, or of the span around it
  unsigned long thread = 0;
  bool backward = false;
  bool failed = false;
  Kind kind = Kind::Op;
  /// Of the node, or of the one that the op has recorded.
  std::optional<uint64_t> sequence;
  /// With Trace::Detail::Full, for each argument: its number of tensors, where it is a sequence of them, or one of ...
  std::vector<int> arguments;
  static constexpr int kTensor = -1, kOther = -2;
  Object values;  ///< ... and a tuple of those that are numbers, names or tuples, None for others
};

/// Note [Traces]: an op is one event, with all that it does inside, because a transform rests meanwhile; a composite
/// appears as the ops that it calls; and a node of backward contains those that its rule calls, at the line that made
/// the node, unless the rule is a program's own and has lines itself.
///
/// With Detail::Full, for the profiler, spans are events too, and contain what is called in them.
class Trace final : public Transform {
 public:
  enum class Detail : uint8_t { Plain, Full };
  explicit Trace(Detail detail) : detail_(detail) {}
  Object call(Op& op, PyObject* const* slots) override;
  void change(Op& op, PyObject* const* slots) override;
  void begin_node(const Node& node, const TensorPtr* gradients) override;
  void end_node(const Node& node, const TensorPtr* edges) override;
  bool hears_spans() const override { return detail_ == Detail::Full; }
  void begin_span(uint64_t number, const Span& span) override;
  void end_span(uint64_t number) noexcept override;
  /// Ends what is open.
  void close();

  /// In the order in which they began. Building Python objects of them may run code that adds to them: copy an event.
  const std::vector<TraceEvent>& events() const { return events_; }
  /// The system's number of the thread that the events are of.
  void set_thread(unsigned long thread) { thread_ = thread; }

 private:
  struct Open {
    size_t event;
    PyCodeObject* code;  ///< of a node, the user's line that called backward (borrowed: its frame outlives the node)
    int instruction;
    uint64_t span;  ///< its number, or 0
  };
  size_t begin_call(std::string name, const Op& op, PyObject* const* slots);
  size_t begin(TraceEvent event);
  void end(size_t number, bool failed) noexcept;
  void end_call(size_t number, PyObject* result, PyObject* const* slots, size_t count);

  Detail detail_;
  std::vector<TraceEvent> events_;
  std::vector<Open> open_;  ///< nodes that are being applied, and spans, innermost last
  unsigned long thread_ = 0;
};

}  // namespace adjoint
