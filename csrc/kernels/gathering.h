// Computations that a device may put together.
#pragma once

#include <utility>

#include "core/error.h"
#include "kernels/backend.h"

namespace adjoint::kernels {

/// Between gather(true) and gather(false) of elementwise kernels (kernels/elementwise.h); copies are such computations,
/// too.
class Gathering {
 public:
  explicit Gathering(Device device) : device_(device) { on(device).elementwise.gather(true); }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  ~Gathering() {
    try {
      end();
    } catch (const Error&) {  // after another error, which says more
    }
  }
  void end() {
    if (!std::exchange(ended_, true)) on(device_).elementwise.gather(false);
  }

 private:
  Device device_;
  bool ended_ = false;
};

}  // namespace adjoint::kernels
