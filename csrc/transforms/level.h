// What levels of vmap and of forward mode have in common.
#pragma once

#include <vector>

#include "op/op.h"
#include "op/transform.h"

namespace adjoint {

/// A transform that changes what a call means for the tensors that belong to it. Levels are numbered as they are
/// opened, in all threads together: a tensor knows its level by the number, and a number is never used again.
class Level : public Transform {
 public:
  Level();
  uint64_t number() const { return number_; }
  /// Whether all that runs inside is for it, so that what few levels need is done everywhere (kFunctional).
  virtual bool is_functional() const { return true; }

 protected:
  /// Lets an op that is made of others call them, and casts its arguments where autocast wants that: this level sees
  /// the calls. One that changes memory itself goes on outwards. Null where there is nothing of the kind to do.
  Object call_parts(Op& op, PyObject* const* slots);

 private:
  uint64_t number_;
};

/// Opens a level: the innermost transform of this thread.
void open_level(Ref<Level> level);
/// The same, as the outermost transform: calls reach it last.
void open_outermost_level(Ref<Level> level);
/// Closes a level of this thread; returns false where there is none of this number.
bool close_level(uint64_t number);
/// The levels of this thread that do not rest, innermost last.
std::vector<Level*> open_levels();
/// The level of this thread that has this number, or null.
Level* find_level(uint64_t number);

/// Calls f(tensor) for every tensor among the arguments of an op, those in sequences too, until it says true.
template <class F>
bool any_tensor(PyObject* const* slots, size_t count, F f) {
  for (size_t i = 0; i < count; ++i) {
    PyObject* object = slots[i];
    if (is_tensor(object)) {
      if (f(as_tensor(object))) return true;
    } else if (is_sequence(object)) {
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k)
        if (PyObject* item = PySequence_Fast_GET_ITEM(object, k); is_tensor(item) && f(as_tensor(item))) return true;
    }
  }
  return false;
}

}  // namespace adjoint
