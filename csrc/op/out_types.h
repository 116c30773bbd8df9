// Whether an out= can take a result for its type, and torch's words where it cannot.
#pragma once

#include <string>

#include "core/dtype.h"
#include "core/error.h"
#include "core/guard.h"

namespace adjoint {

/// What a declaration says of the type of an out=.
struct OutDemands {
  bool exact = false;  ///< only the result's own type will do ...
  bool kind = false;   ///< ... or complex for complex results, and real but no integer for real ones
  Object words;        ///< see out_words in src/adjoint/ops/declaration.py; None: the usual ones
};

/// Reads the options `out` and `out_words` of a declaration.
OutDemands read_demands(PyObject* out, PyObject* words);

/// An error as a declaration gives it: a string, for a RuntimeError, or an exception.
struct DeclaredError {
  ErrorKind kind;
  std::string text;
};
DeclaredError read_error(PyObject* error);

/// Raises for an out= of type `given` in the `place`-th place that cannot take a result of type `expected`.
void check_out_type(const OutDemands& demands, DType given, DType expected, int place);

}  // namespace adjoint
