"""DataLoader with worker processes: torch's batches and seeds; errors, deaths, Ctrl-C; nothing is left behind."""

import gc
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import adjoint
from tests.compare import ALL, EXACT, assert_same

from .large import Large, large

LIBRARIES = (adjoint, torch)


def noisy(L, count=9):
    """Samples that show which worker made them, and with which random numbers."""
    D = L.utils.data

    class Noisy(D.Dataset):
        def __len__(self):
            return count

        def __getitem__(self, index):
            info = D.get_worker_info()
            numbers = L.rand(2), np.random.rand(), random.random()
            return {"index": index, "worker": info.id, "seed": info.seed, "numbers": numbers, "name": "n" * index}

    return Noisy()


def shared_stream(L):
    """A stream divided over the workers, in uneven parts."""
    D = L.utils.data

    class Divided(D.IterableDataset):
        def __iter__(self):
            worker = D.get_worker_info()
            return iter(range(10 * worker.id, 10 * worker.id + 3 + 3 * worker.id))

    return Divided()


def batches(L, dataset, seed=0, epochs=1, **options):
    """All batches, and a random number drawn afterwards."""
    L.manual_seed(seed)
    loader = L.utils.data.DataLoader(dataset(L), num_workers=2, **options)
    return [list(loader) for _ in range(epochs)], L.rand(1).item()


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """No process and no file in shared memory outlives a test."""
    yield
    gc.collect()  # torch's iterators as well
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 2},
        {"batch_size": 2, "shuffle": True, "epochs": 2},
        {"batch_size": 4, "drop_last": True, "prefetch_factor": 1},
        {"batch_size": None},
        {"batch_size": 3, "persistent_workers": True, "epochs": 3, "shuffle": True},
    ],
)
def test_batches_and_random_numbers_are_torchs(options):
    assert_same(*(batches(L, noisy, **options) for L in LIBRARIES), ALL, EXACT)


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}])
def test_streams(options):
    assert_same(*(batches(L, shared_stream, **options) for L in LIBRARIES), ALL, EXACT)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_large_batches_come_through_shared_memory(context):
    loader = adjoint.utils.data.DataLoader(Large(), None, num_workers=2, multiprocessing_context=context)
    for index, batch in enumerate(loader):
        for name, value in large(index).items():
            assert batch[name].dtype == value.dtype
            assert batch[name].equal(value)
            assert batch[name].requires_grad == value.requires_grad
        batch["x"].add_(1)  # it is ours to change
    assert index == 5


def test_batches_outlive_their_workers():
    kept = list(adjoint.utils.data.DataLoader(Large(), 2, num_workers=2))
    assert [batch["x"][:, 0, 0].tolist() for batch in kept] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_out_of_order_gives_all_batches():
    loader = adjoint.utils.data.DataLoader(range(20), 2, num_workers=2, in_order=False)
    assert sorted(batch.tolist() for batch in loader) == [[i, i + 1] for i in range(0, 20, 2)]


def test_an_iteration_may_be_left():
    for persistent in (False, True):
        loader = adjoint.utils.data.DataLoader(Large(), 2, num_workers=2, persistent_workers=persistent)
        for _ in loader:
            break
        assert len(list(loader)) == 3
        del loader, _


def initialise(worker):
    random.seed(worker)
    adjoint.utils.data.get_worker_info().dataset.extra = worker + 100


class Extra:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.extra


def test_worker_init_fn():
    loader = adjoint.utils.data.DataLoader(Extra(), num_workers=2, worker_init_fn=initialise)
    assert [batch.item() for batch in loader] == [100, 101, 100, 101]


# ---- What goes wrong


class Raises:
    """Fails for one index, in the way it is told."""

    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 2:
            return self.how(index)
        return index


class Picky(Exception):
    """Cannot be made from one text."""

    def __init__(self, one, two):
        super().__init__(one, two)


def raise_value_error(index):
    raise ValueError(f"bad sample {index}")


def raise_key_error(index):
    return {}["missing"]


def raise_picky(index):
    raise Picky(1, 2)


def return_a_lambda(index):
    return lambda: 0


def stop(index):
    raise StopIteration


@pytest.mark.parametrize(
    ("how", "kind", "text"),
    [
        (raise_value_error, ValueError, "ValueError: bad sample 2"),
        (raise_key_error, KeyError, "KeyError: 'missing'"),
        (raise_picky, RuntimeError, "Caught Picky in DataLoader worker process 0"),
        (return_a_lambda, Exception, "lambda"),
        (stop, RuntimeError, "StopIteration"),
    ],
)
def test_an_exception_in_a_worker_is_raised_with_its_trace(how, kind, text):
    loader = adjoint.utils.data.DataLoader(Raises(how), None, num_workers=2)
    batches = iter(loader)
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(kind) as caught:
        next(batches)
    assert kind in (caught.type, Exception)
    assert text in str(caught.value)
    assert "Original Traceback" in str(caught.value)
    assert next(batches) == 3


def fail_to_start(worker):
    raise OSError("no such device")


def test_an_exception_at_the_start_of_a_worker():
    loader = adjoint.utils.data.DataLoader(range(4), num_workers=2, worker_init_fn=fail_to_start)
    with pytest.raises(OSError, match="no such device"):
        list(loader)


def kill_this_process(index):
    os.kill(os.getpid(), signal.SIGKILL)


def exit_this_process(index):
    os._exit(3)


@pytest.mark.parametrize(("how", "reason"), [(kill_this_process, "SIGKILL"), (exit_this_process, "exit code 3")])
def test_a_dead_worker_is_an_error_at_once(how, reason):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(adjoint.utils.data.DataLoader(Raises(how), None, num_workers=2))
    assert reason in str(caught.value)
    assert time.monotonic() - start < 20  # a hang would be for ever


def test_a_worker_killed_from_outside():
    loader = adjoint.utils.data.DataLoader(Raises(time.sleep), None, num_workers=1, prefetch_factor=4)
    batches = iter(loader)
    next(batches)
    os.kill(batches._workers[0].process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        for _ in batches:
            pass
    assert list(batches) == []


class OneFallsOthersWork:
    """One worker dies while the others are busy for a long time, and a process that it has started lives on."""

    def __init__(self, heir):
        self.heir = heir

    def __len__(self):
        return 7

    def __getitem__(self, index):
        if index < 6:
            time.sleep(60)
        elif self.heir and os.fork() == 0:
            time.sleep(3)
            os._exit(0)
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than processors
@pytest.mark.parametrize("heir", [False, True])
def test_a_dead_worker_among_busy_ones_is_an_error_at_once(heir):
    loader = adjoint.utils.data.DataLoader(OneFallsOthersWork(heir), None, num_workers=7, timeout=50)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"exited unexpectedly \(killed by signal SIGSEGV\)"):
        list(loader)
    assert time.monotonic() - start < 25  # the others are busy for a minute, and must not be waited for one by one


def test_workers_end_though_later_ones_live():
    """Processes that were forked later do not keep the pipes of earlier workers open."""
    first = iter(adjoint.utils.data.DataLoader(range(4), num_workers=1))
    second = iter(adjoint.utils.data.DataLoader(range(4), num_workers=1))
    next(first), next(second)
    process = first._workers[0].process
    first._workers[0].conn.close()  # all that a killed program says
    process.join(30)
    assert process.exitcode == 0
    assert len(list(second)) == 3
    first._crew.close()


def sleep_long(index):
    time.sleep(60)


def test_timeout():
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        list(adjoint.utils.data.DataLoader(Raises(sleep_long), None, num_workers=1, timeout=1))


PROGRAM = """
import signal, time
import adjoint as torch

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background is started without

class Slow(torch.utils.data.Dataset):
    def __len__(self): return 1000
    def __getitem__(self, index):
        time.sleep(0.01)
        return torch.ones(100, 100)

loader = torch.utils.data.DataLoader(Slow(), 2, num_workers=2)
try:
    for i, batch in enumerate(loader):
        if i == 2:
            print("running", *(worker.process.pid for worker in torch.utils.data._last._workers), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def files_in_memory():
    """The files of this library in shared memory, by the names that it has given or could give."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(("adjoint", "tmp"))}


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_ctrl_c_and_a_killed_program_leave_no_worker(how):
    code = PROGRAM.replace("enumerate(loader)", "enumerate(iterator)").replace(
        "try:", "iterator = torch.utils.data._last = iter(loader)\ntry:", 1
    )
    before = files_in_memory()
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True)  # fmt: skip
    word, *pids = run.stdout.readline().split()
    assert word == "running"
    if how == "interrupt":
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: the workers get it as well
    else:
        run.kill()
    out, err = run.communicate(timeout=60)
    if how == "interrupt":
        assert (out, err, run.returncode) == ("interrupted\n", "", 0)
    deadline = time.monotonic() + 20
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)
    assert files_in_memory() <= before
