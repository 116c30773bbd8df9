// Optimizer updates: generated loops, found by name, that change a parameter and its state in one pass.
#pragma once

#include <cstdint>

namespace adjoint {

/// Room for the arrays of an update, and for its numbers and 0-d states; src/adjoint/codegen/updates.py checks both.
inline constexpr int kMaxUpdateArrays = 8;
inline constexpr int kMaxUpdateNumbers = 16;

/// Computes what does not depend on elements: `kept` holds the 0-d states before and after; `uniforms` is for the loop.
using UpdatePrepare = void (*)(double* kept, bool first, const double* numbers, double* uniforms);
/// One pass over contiguous arrays: the parameter, its gradient, and those of its state.
using UpdateLoop = void (*)(char* const* arrays, int64_t n, const double* uniforms);

/// A rule of src/adjoint/optim for one choice of its flags: "adam", "adam.amsgrad".
struct Update {
  const char* name;
  const char* const* states;        ///< names in a parameter's state: 0-d ones, then arrays
  const char* const* number_names;  ///< of a parameter group
  uint8_t kept;                     ///< how many states are 0-d
  uint8_t arrays;                   ///< with the parameter and its gradient
  uint8_t numbers;
  UpdatePrepare prepare[2];  ///< for 0-d states of float32 and float64
  UpdateLoop loops[2];       ///< for arrays of float32 and float64

  int n_states() const { return kept + arrays - 2; }
};

/// The update of this name, or nullptr.
const Update* find_update(const char* name);
/// Adds an update to the registry; called by generated code.
void register_update(const Update* update);

}  // namespace adjoint
