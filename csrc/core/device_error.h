// What a call of a device's driver raises: AcceleratorError in Python.
#pragma once

#include "core/error.h"

namespace adjoint {

class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message) : Error(ErrorKind::Runtime, message) {}
};

template <class... Parts>
[[noreturn]] void fail_device(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw DeviceError(text.str());
}

}  // namespace adjoint
