// Lets other Python threads run during long native work.
#pragma once

#include <Python.h>

#include <cstdint>

namespace adjoint {

/// Releases the interpreter lock while it lives, when the work is worth it. The code inside must not touch Python, count
/// references or allocate tensors.
class WithoutLock {
 public:
  explicit WithoutLock(int64_t elements) : state_(elements >= kWorthwhile ? PyEval_SaveThread() : nullptr) {}
  ~WithoutLock() {
    if (state_) PyEval_RestoreThread(state_);
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  static constexpr int64_t kWorthwhile = 1 << 17;
  PyThreadState* state_;
};

}  // namespace adjoint
