// Python's warnings; one that the user has made an error is thrown.
#pragma once

#include <string>
#include <utility>

#include "core/dtype.h"
#include "core/guard.h"

namespace adjoint {

/// At the line of the program that called into the package, as src/adjoint/_warning.py finds it.
void warn(const char* text);
/// The same from where the interpreter lock may have been given up.
void warn_with_lock(const std::string& text);
/// Only the first time; `warned` keeps whether that has been.
inline void warn_once(bool& warned, const char* text) {
  if (!std::exchange(warned, true)) warn(text);
}
/// Before complex elements become real, the first time; as truth values they lose nothing.
inline void warn_if_imaginary_part_goes(Category from, DType to) {
  static bool warned = false;
  if (from == Category::Complex && !is_complex(to) && to != DType::Bool)
    warn_once(warned, "Casting complex values to real discards the imaginary part");
}

}  // namespace adjoint
