// A level of forward mode: computes the tangent of each result along with it.
#pragma once

#include "core/tangent.h"
#include "transforms/level.h"

namespace adjoint {

/// Note [Forward mode]: a tensor may carry a tangent for each level (core/tangent.h). A call comes to the innermost
/// level first; if no argument has a tangent there, it goes on outwards. Otherwise the level lets the op compute its
/// result, and finds the tangent of that
///
///   - by the op itself, where it is linear in the arguments that have tangents;
///   - by `jvp` of the op's declaration;
///   - by the rules of an elementwise op, which multiply by the derivative: a real gradient or tangent, all the same;
///   - by transposing the transpose: the gradient of an op is linear in what comes in, and the gradient of that is the
///     tangent. Python, in adjoint/func/_transpose.py.
///
/// All of this is done by ops, which reach the next level outwards and the tape, so that tangents have tangents and
/// histories. A view without a tangent of its own has the part of its base's that it looks at.
class Forward final : public Level {
 public:
  Object call(Op& op, PyObject* const* slots) override;
  void change(Op& op, PyObject* const* slots) override;

  /// The tangent of a tensor at this level; empty where there is none.
  TensorPtr tangent(Tensor* tensor) const;
  /// Gives a tensor that is new its tangent, of its own sizes.
  void give(Tensor* tensor, TensorPtr value) const;
  /// Gives one that has been changed its tangent. The base of a view gets one as well.
  void set_tangent(Tensor* tensor, TensorPtr value) const;

 private:
  bool concerns(const Op& op, PyObject* const* slots) const;
  /// By slot; for a sequence a tuple of tensors and None. Null where there is none.
  std::vector<Object> tangents(const Op& op, PyObject* const* slots) const;
  /// The tangents of a call's results: one tensor, or a tuple of tensors and None.
  Object derivative(Op& op, PyObject* const* slots, const std::vector<Object>& tangents, PyObject* result) const;
  Object by_substitution(Op& op, PyObject* const* slots, const std::vector<Object>& tangents) const;
  Object by_elementwise_rules(Op& op, PyObject* const* slots, const std::vector<Object>& tangents,
                              Tensor* result) const;
  /// The tangent of the first argument once it has been changed in place.
  TensorPtr changed_tangent(Op& op, PyObject* const* slots, const std::vector<Object>& given) const;
  Object call_jvp(Op& op, PyObject* const* slots, const std::vector<Object>& tangents, PyObject* result) const;
  void attach(const Op& op, PyObject* result, PyObject* tangent) const;
};

/// While it is off in a thread, results get no tangents.
bool forward_enabled();
bool set_forward_enabled(bool enabled);

}  // namespace adjoint
