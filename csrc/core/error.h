// The one exception type of the core: it carries which Python exception to raise at the boundary.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace adjoint {

enum class ErrorKind {
  Runtime,
  Type,
  Value,
  Index,
  NotImplemented,
  Overflow,
  Memory,
  Buffer,
  Attribute,
  Assertion,
  LinAlg,
  OutOfDeviceMemory,
  Python
};

/// Thrown by the core and the kernels, turned into a Python exception by `guarded` (python/guard.h).
/// `ErrorKind::Python` means that the Python error indicator is set already.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(kind, text.str());
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  fail(ErrorKind::Runtime, parts...);
}

}  // namespace adjoint
