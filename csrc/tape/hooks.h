// Hooks on tensors and nodes, run by the engine.
#pragma once

#include "tape/node.h"

namespace adjoint {

/// What hooks may ask about the backward that runs in this thread; the engine's run is one while it lives.
class RunningBackward {
 public:
  RunningBackward();
  RunningBackward(const RunningBackward&) = delete;
  RunningBackward& operator=(const RunningBackward&) = delete;
  /// Will this run apply the node, or hand its gradient out?
  virtual bool executes(Node* node) = 0;
  /// Is the node the one place where this run has begun?
  virtual bool begins_at(const Node* node) const = 0;
  /// Are only the gradients of some places asked for?
  virtual bool partial() const = 0;
  /// Do gradients go to .grad, rather than to the caller?
  virtual bool accumulates() const = 0;
  /// Can there be another run through the same graph?
  virtual bool keeps_graph() const = 0;
  /// The nodes of this run in the order in which they are applied, from its beginning.
  virtual std::vector<Node*> order() = 0;
  /// The node whose turn it is, or null (borrowed).
  Node* executing() const { return executing_; }
  /// Has a callable called when the last node was applied.
  void add_callback(PyObject* callback) { callbacks_.push_back(Object::borrow(callback)); }

  /// The innermost run, or null.
  static RunningBackward* current();
  /// For a thread that goes on with the work of another one.
  static void set_current(RunningBackward* run);
  uint64_t id() const { return id_; }
  RunningBackward* outer() const { return outer_; }

 protected:
  ~RunningBackward();
  /// Calls what was added, and what is added by these calls.
  void run_callbacks();
  Node* executing_ = nullptr;

 private:
  std::vector<Object> callbacks_;
  uint64_t id_;
  RunningBackward* outer_;
};

/// An empty table of hooks by number. Handles refer to it weakly, which a plain dict does not allow.
PyObject* new_hook_table();
/// Runs the hooks of the tensors that are outputs of `node` on their gradients, then fills .grad of those that retain
/// it. Needs node.extra.
void run_tensor_hooks(Node& node, TensorPtr* outputs, bool create_graph);
/// Node pre-hooks, apply (unless no gradient is defined and the node does not want to run then), a leaf's
/// post-accumulation hooks, node post-hooks; with the checks of anomaly mode, and in sight of the transforms.
void apply_with_hooks(Node& node, TensorPtr* outputs, TensorPtr* edges, const ApplyContext& context);

/// The dict of the hooks on the gradient of `tensor` as it is now (borrowed): hooks registered before an in-place
/// change stay with the gradient of the former value.
PyObject* tensor_hook_dict(Tensor* tensor);
/// Puts another dict (null: none) in its place.
void set_tensor_hooks(Tensor* tensor, PyObject* dict);
/// Asks for .grad of a non-leaf.
void retain_grad(Tensor* tensor);
/// A tensor that retains its gradient got a new grad_fn in place of `before` (may be null): the wish moves along.
void move_retained_grad(Tensor* tensor, Node* before);

}  // namespace adjoint
