// Tensors of classes with __torch_dispatch__: ops on them are asked of the class.
#pragma once

#include <vector>

#include "core/batched.h"
#include "transforms/level.h"

namespace adjoint {

/// Note [Wrapped tensors]: what a wrapped tensor consists of is known to its class alone. It has sizes, a type and a
/// device to show, and as its memory a BatchStorage of the level 0, which no vmap has: kernels refuse it, saved values
/// and aliases keep it. Its value is a tensor of the class on the meta device, which nobody sees, and which has the
/// attributes (`__dict__`) of all tensors on this storage: from an alias, `shown` makes a tensor of the class again.
///
/// While a thread has such tensors, a level outside of all others takes its calls, and asks
/// `__torch_dispatch__(overload, types, args, kwargs)` of their classes; what comes back is recorded as the result of
/// the op, so that autograd is outside of the classes, as in torch.
class Dispatch final : public Level {
 public:
  Object call(Op& op, PyObject* const* slots) override;
  void change(Op& op, PyObject* const* slots) override;
  /// Nodes that have to do with wrapped tensors are applied by rules that call ops, not by fused loops.
  void begin_node(const Node& node, const TensorPtr* gradients) override;
  void end_node(const Node& node, const TensorPtr* edges) override;
  bool is_functional() const override { return false; }
  /// Counts the tensors for which it is open.
  void enter() { ++holders_; }
  void leave();

 private:
  bool concerns(const Op& op, PyObject* const* slots) const;
  Object ask(Op& op, PyObject* const* slots, bool in_place);
  Object recorded(Op& op, PyObject* const* slots, Object result) const;
  uint64_t holders_ = 0;
  std::vector<bool> functional_;  ///< whether the mode was on when each node began that is being applied
};

/// A tensor of a class that defines __torch_dispatch__, with nothing but its attributes.
Object make_wrapped(PyTypeObject* type, ShapePtr shape, DType dtype, Device device, bool requires_grad);
/// Of an alias of a wrapped tensor, a tensor of its class; all else is itself.
Object shown(PyObject* object);
/// The same of a tensor that nobody else has, with its history.
Object shown(TensorPtr tensor);
/// Whether a class defines __torch_dispatch__.
bool dispatches(PyTypeObject* type);
/// Lets this thread ask the classes of tensors that have memory themselves.
void watch_class(PyTypeObject* type);
/// Whether classes are asked, in this thread; returns what it was.
bool set_dispatching(bool enabled);

}  // namespace adjoint
