// What the declaration of an op says to transforms.
#pragma once

#include <optional>
#include <vector>

#include "op/op.h"

namespace adjoint {

/// One call of a linear op among those whose sum is its tangent; see `substitutions` in ops/declaration.py.
struct Substitution {
  std::vector<uint8_t> tangents;  ///< the slots that their tangents replace ...
  std::vector<uint8_t> zeros;     ///< ... and those that zeros replace
};

/// The slots of arguments that count dimensions, and of those that list sizes; see adjoint/ops/batching.py.
struct BatchPlaces {
  std::vector<uint8_t> dims, sizes;
  bool of_sizes;  ///< the dimensions are those of what has the first sizes, not of the first tensor
};

/// The tangent of the results as a Python function (`jvp`), and what it is called with.
struct JvpForm {
  struct Parameter {
    bool tangent;  ///< that of the argument, not the argument
    SavedItem item;
  };
  Object callable;
  std::vector<Parameter> parameters;
};

struct TransformRules {
  Object batch;                             ///< a Python callable, see adjoint/ops/batching.py; or null
  std::optional<BatchPlaces> places;        ///< where the rule is one of words
  int rows = -1;                            ///< the slot of a matrix whose rows are independent, see `rows_of` there
  Op* along = nullptr;                      ///< that reduces along rows what this one reduces as a whole
  JvpForm jvp;                              ///< without a callable: there is none
  std::vector<Substitution> substitutions;  ///< of a linear op
  uint32_t linear_slots = 0;                ///< bit set of the arguments that these replace
  bool random = false;                      ///< draws numbers
};

/// Whether an op gives its first argument other memory or other sizes, rather than being made of ops that do.
inline bool changes_memory(const Op& op) { return op.kind == Op::Kind::Composed && op.transforms().batch; }

}  // namespace adjoint
