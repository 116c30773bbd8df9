// Anomaly mode: where a failing node was made, and which gradient or result first held nan or inf.
#pragma once

#include "core/mode.h"
#include "tape/node.h"

namespace adjoint {

/// Of the whole process, as in torch; only the check of forward results (kAnomalyCheckForward) is of a thread.
enum AnomalyFlags : uint32_t {
  kAnomaly = 1,          ///< nodes record the traceback of their making, and failures in backward are explained
  kAnomalySkipNan = 2,   ///< nan in gradients is no failure
  kAnomalyCheckInf = 4,  ///< inf in gradients is a failure
};
inline constinit uint32_t anomaly_flags = 0;

/// The Python side (autograd/anomaly_mode.py): record(node, parent) notes a traceback in a new node's metadata;
/// explain(node) warns where a failing node was made; describe(values) tells the statistics of arguments.
struct AnomalyHandlers {
  PyObject* record = nullptr;
  PyObject* explain = nullptr;
  PyObject* describe = nullptr;
};
extern AnomalyHandlers anomaly_handlers;

/// The node that backward applies now, in this thread, while anomaly mode is on: the parent of nodes made meanwhile.
class ApplyingNode {
 public:
  explicit ApplyingNode(Node& node);
  ~ApplyingNode();
  ApplyingNode(const ApplyingNode&) = delete;
  ApplyingNode& operator=(const ApplyingNode&) = delete;

 private:
  Node* before_;
  uint32_t forward_check_;  ///< a gradient is not a forward result: that check rests meanwhile
};

/// Notes the traceback of the making of `node`. Call only while anomaly mode is on.
void record_making(Node& node);
/// Warns where `node` was made, with an exception in flight. Does not change the exception.
void explain_failure(Node& node) noexcept;
/// Throws when one of the gradients that `node` has computed holds nan, or inf where that is asked for.
void check_gradients(const Node& node, const TensorPtr* gradients);

/// Watches one forward call for nan and inf in its results that were not in its arguments.
class ForwardCheck {
 public:
  /// `in_place`: the first argument is about to be overwritten.
  ForwardCheck(const char* op, PyObject* const* arguments, size_t count, bool in_place);
  /// Throws when a result (a tensor, or a tuple of them) holds what no argument holds.
  void finish(PyObject* result) const;

 private:
  void check(const Tensor* result, size_t index) const;

  const char* op_;
  std::vector<Object> arguments_;
};

}  // namespace adjoint
