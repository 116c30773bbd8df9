#include "core/lock.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/guard.h"

namespace adjoint {

void wait_for_exit() noexcept {
  // Signals are for threads that still run.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) pause();
}

std::atomic<int> computing_without_lock = 0;
void (*leaving_lock)() = nullptr;

static void wait_for_computing() {
  while (computing_without_lock) usleep(100);
}

void prepare_for_exit() {
  check(Py_AtExit(wait_for_computing) == 0);
  // In a child none of the other threads lives on.
  check(pthread_atfork(nullptr, nullptr, [] { computing_without_lock = 0; }) == 0);
  // Makes a statically linked C++ runtime ready to catch ThreadExit, which another runtime raises: by its first throw.
  try {
    throw Error(ErrorKind::Runtime, "");
  } catch (const Error&) {
  }
}

void take_lock(PyThreadState* state) noexcept {
  in_python([&] { PyEval_RestoreThread(state); });
}

}  // namespace adjoint
