// The interpreter lock: other Python threads run during long native work, and threads end quietly with the process.
#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <atomic>
#include <cstdint>

namespace adjoint {

/// Note [Threads at exit]: when the interpreter ends while a daemon thread waits for its lock, CPython before 3.14 ends
/// that thread by pthread_exit(), which unwinds its stack: destructors would drop references without the lock, and a
/// destructor or `noexcept` on the way is an abort. Such a thread waits here for the end of the process instead, as
/// CPython's own do from 3.14 on. So whatever may take the lock is called through `take_lock` and `call_python`.
/// A thread that computes without the lock at that time is waited for: the libraries that it computes with, OpenBLAS
/// above all, free their memory when the process ends.
#ifdef __GLIBCXX__
using ThreadExit = abi::__forced_unwind;
#else
struct ThreadExit {};  // elsewhere pthread_exit() unwinds nothing
#endif
[[noreturn]] void wait_for_exit() noexcept;
/// Called once, when the extension is loaded.
void prepare_for_exit();
/// How many threads compute without the lock.
extern std::atomic<int> computing_without_lock;
/// Called by a thread that is about to give up the lock, if anybody wants to know.
extern void (*leaving_lock)();

/// PyEval_RestoreThread.
void take_lock(PyThreadState* state) noexcept;

/// Runs f, in which Python code may run.
template <class F>
auto in_python(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (ThreadExit&) {
    wait_for_exit();
  }
}

/// Calls a Python object; a new reference, or null with the error set.
inline PyObject* call_python(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return in_python([&] { return PyObject_Vectorcall(callable, args, nargsf, kwnames); });
}
template <class... Args>
PyObject* call_python(PyObject* callable, Args*... args) {
  PyObject* all[] = {nullptr, args...};
  return call_python(callable, all + 1, sizeof...(args) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

/// Releases the interpreter lock while it lives, when the work is worth it. The code inside must not touch Python,
/// count references or allocate tensors.
class WithoutLock {
 public:
  static bool worthwhile(int64_t elements) { return elements >= int64_t{1} << 17; }
  explicit WithoutLock(int64_t elements) : state_(worthwhile(elements) ? release() : nullptr) {}
  ~WithoutLock() {
    if (!state_) return;
    --computing_without_lock;
    take_lock(state_);
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  static PyThreadState* release() {
    if (leaving_lock) [[unlikely]]
      leaving_lock();
    ++computing_without_lock;
    return PyEval_SaveThread();
  }

  PyThreadState* state_;
};

}  // namespace adjoint
