#include "core/lock.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core/error.h"

namespace adjoint {

void wait_for_exit() noexcept {
  // Signals are for threads that still run.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (;;) pause();
}

void prepare_for_exit() {
  try {
    throw Error(ErrorKind::Runtime, "");
  } catch (const Error&) {
  }
}

void take_lock(PyThreadState* state) noexcept {
  in_python([&] { PyEval_RestoreThread(state); });
}

}  // namespace adjoint
