"""Several processes that run one function, and stop together when one of them fails."""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback


class ProcessException(Exception):
    """One of the processes failed: `error_index` is its number, `error_pid` its id."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised in one of the processes."""


class ProcessExitedException(ProcessException):
    """One of the processes ended without being done."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn, index, args, error_file):
    """The body of a process: what fn raises goes to a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted as well
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """The processes that spawn(join=False) has started."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self._running = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits until one process ends or all have; True when all are done, and an error when one has failed.

        The others are then asked to end, and killed after `grace_period` (30 seconds).
        """
        if not self._running:
            return True
        ended = multiprocessing.connection.wait(self._running.keys(), timeout=timeout)
        failed = None
        for sentinel in ended:
            index = self._running.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                failed = index
                break
        if failed is None:
            self._remove_files()
            return not self._running
        self._stop(30 if grace_period is None else grace_period)
        self._raise(failed)

    def _stop(self, patience):
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + patience
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _raise(self, index):
        process, file = self.processes[index], self.error_files[index]
        if os.path.getsize(file) == 0:
            self._running.clear()
            self._remove_files()
            code = process.exitcode
            if code < 0:
                name = signal.Signals(-code).name
                text = f"process {index} terminated with signal {name}"
                raise ProcessExitedException(text, index, process.pid, code, name)
            text = f"process {index} terminated with exit code {code}"
            raise ProcessExitedException(text, index, process.pid, code)
        with open(file, "rb") as opened:
            original = pickle.load(opened)
        self._running.clear()
        self._remove_files()
        text = f"\n\n-- Process {index} terminated with the following error:\n{original}"
        raise ProcessRaisedException(text, index, process.pid)

    def _remove_files(self):
        if not self._running:
            for file in self.error_files:
                if os.path.exists(file):
                    os.unlink(file)


SpawnContext = ProcessContext


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs fn(number, *args) in `nprocs` processes.

    >>> import adjoint as torch
    >>> torch.multiprocessing.start_processes(print, nprocs=0, start_method="fork")
    """
    context = multiprocessing.get_context(start_method)
    processes, files = [], []
    for index in range(nprocs):
        handle, file = tempfile.mkstemp(prefix="adjoint-error-", suffix=".pickle")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, index, args, file), daemon=daemon)
        process.start()
        processes.append(process)
        files.append(file)
    started = ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs fn(number, *args) in `nprocs` fresh processes.

    >>> import adjoint as torch
    >>> torch.multiprocessing.spawn(print, nprocs=0)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
