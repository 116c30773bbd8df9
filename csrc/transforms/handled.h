// A level whose calls a Python function handles.
#pragma once

#include "transforms/level.h"

namespace adjoint {

/// Calls handler(op, arguments, in_place) for each op, with all of its arguments in order; what it returns is the
/// result. It may call the op itself: the level rests meanwhile.
class Handled final : public Level {
 public:
  explicit Handled(Object handler) : handler_(std::move(handler)) {}
  Object call(Op& op, PyObject* const* slots) override { return handle(op, slots, false); }
  void change(Op& op, PyObject* const* slots) override { handle(op, slots, true); }

 private:
  Object handle(Op& op, PyObject* const* slots, bool in_place);
  Object handler_;
};

}  // namespace adjoint
