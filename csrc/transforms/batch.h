// A level of vmap: runs each op once for the whole batch.
#pragma once

#include <string>

#include "core/batched.h"
#include "transforms/chain.h"
#include "transforms/level.h"

namespace adjoint {

/// Note [vmap]: a function under vmap gets batched tensors (core/batched.h) and calls ops on them. Each call comes to
/// the innermost level first. If no argument is batched there, it goes on outwards. Otherwise the level takes the
/// values, in which the batch is the first dimension, and calls
///
///   - an elementwise op on them, their other dimensions lined up from the right, if it cannot wait (Note [Chains]);
///   - the batch rule of the op's declaration (`batch`), in Python;
///   - the op once for each element, with a warning, where there is no rule.
///
/// What it calls reaches the next level outwards, or the tape of the values. The results become batched tensors; if the
/// batched arguments require grad themselves, the call is recorded with them, as any call is: rules of derivatives then
/// run on batched tensors, and come here again.
class Batch final : public Level {
 public:
  enum class Randomness : uint8_t { Error, Same, Different };
  Batch(int64_t size, Randomness randomness) : size_(size), randomness_(randomness) {}

  Object call(Op& op, PyObject* const* slots) override;
  void change(Op& op, PyObject* const* slots) override;

  int64_t size() const { return size_; }
  Randomness randomness() const { return randomness_; }
  /// The value with the batch first; what is not batched here is repeated, on the same memory.
  TensorPtr expanded(Tensor* tensor) const;

 private:
  /// Whether an argument belongs to this level.
  bool concerns(const Op& op, PyObject* const* slots) const;
  /// Whether one of these arguments differs from element to element.
  bool spreads(PyObject* const* slots, size_t count) const;
  /// Whether a call is recorded for what differentiates inside of this level.
  bool records(const Op& op, PyObject* const* slots) const;
  /// The op on values that all elements share.
  Object call_shared(Op& op, PyObject* const* slots);
  /// What an argument is outside of this level: the values of batched tensors, also in sequences.
  Object outside(PyObject* object) const;
  /// The operands of an elementwise op as values whose dimensions line up; false where one is no operand.
  bool line_up(Op& op, PyObject* const* slots, PyObject** values, Object* owned);
  Object call_elementwise(Op& op, PyObject* const* slots);
  /// An elementwise op that can wait; null where it is to be computed now.
  Object call_later(Op& op, PyObject* const* slots);
  Object call_rule(Op& op, PyObject* const* slots);
  /// By the rule of the declaration.
  Object call_declared(Op& op, PyObject* const* slots) const;
  /// Calls function(op, size, [option,] batched, *values), as batch rules are called.
  Object call_with_values(PyObject* function, Op& op, PyObject* const* slots, PyObject* option = nullptr) const;
  void check_randomness(const Op& op) const;
  /// Random numbers: the same for all elements, or others for each.
  Object draw(Op& op, PyObject* const* slots);
  void fill(Op& op, PyObject* const* slots, Tensor* value);
  /// Refuses to write into a tensor that all elements of the batch share.
  [[noreturn]] void refuse_shared(const std::string& name, Tensor* target) const;
  /// Refuses a change of random numbers in a tensor that is not batched, unless they are the same for all elements.
  void check_shared_draw(Op& op, PyObject* const* slots) const;
  /// An op that gives its first argument other memory or other sizes: its batch rule finds what is shown from now on.
  Object change_memory(Op& op, PyObject* const* slots);
  /// Changes the first argument: all arguments are shared; elementwise; by the batch rule, whose result is copied
  /// there. `chosen` is the variant of the op, which is what is recorded.
  void change_shared(Op& op, Op& chosen, PyObject* const* slots);
  void change_elementwise(Op& op, Op& chosen, PyObject* const* slots);
  void change_by_rule(Op& op, Op& chosen, PyObject* const* slots);
  /// A rule of words for one tensor, the first argument, without Python; null where it takes the rule.
  Object call_by_places(Op& op, PyObject* const* slots);
  /// An op of which nothing but one matrix is batched, whose rows are independent: the batch is folded into them. Null
  /// where it takes the rule.
  Object call_by_rows(Op& op, PyObject* const* slots);
  /// A reduction of all elements, by the op that reduces rows; see `along` in op/transform_rules.h.
  Object call_along_rows(Op& op, PyObject* const* slots);
  TensorPtr shown_inside(const Op& op, PyObject* const* slots, PyObject* item, ViewOrigin origin, bool shared) const;
  /// Results for the inside: batched tensors, and views of the first argument where the op makes views.
  Object inside(const Op& op, PyObject* const* slots, Object result, bool shared);

  int64_t size_;
  Randomness randomness_;
  Ref<Chain> chain_ = make_ref<Chain>();
};

/// The value with its batch first and `count` dimensions of size 1 behind it.
Object with_dims(Tensor* value, int count);
/// A function of a module of the package.
Object python_function(const char* module, const char* name);

}  // namespace adjoint
