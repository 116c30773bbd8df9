// Levels as functions of the package name them: by their numbers.
#pragma once

#include "core/guard.h"
#include "op/arg.h"
#include "transforms/level.h"

namespace adjoint::python {

inline Object number_object(uint64_t number) { return checked(PyLong_FromUnsignedLongLong(number)); }

inline uint64_t to_number(PyObject* object, const char* function) {
  return static_cast<uint64_t>(to_int(object, function, "level"));
}

/// The level of this kind and number that this thread has open.
template <class Kind>
Kind& level_of(PyObject* number, const char* function) {
  auto* level = dynamic_cast<Kind*>(find_level(to_number(number, function)));
  if (!level) fail(function, ": expected a level that this thread has open; this one is closed, or another thread's");
  return *level;
}

}  // namespace adjoint::python
