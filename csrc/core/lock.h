// Lets other Python threads run during long native work.
#pragma once

#include <Python.h>

#include <cstdint>

namespace adjoint {

/// Releases the interpreter lock while it lives, when the work is worth it. The code inside must not touch Python,
/// count references or allocate tensors.
class WithoutLock {
 public:
  static bool worthwhile(int64_t elements) { return elements >= int64_t{1} << 17; }
  explicit WithoutLock(int64_t elements) : state_(worthwhile(elements) ? PyEval_SaveThread() : nullptr) {}
  ~WithoutLock() {
    if (state_) PyEval_RestoreThread(state_);
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace adjoint
