"""Memory that processes share: share_memory_(), storages, and tensors through the queues of multiprocessing."""

import os
import signal

import numpy as np
import pytest

import adjoint
from adjoint import multiprocessing

from .compare import programs

program, test_program = programs()
FORK = multiprocessing.get_context("fork")


@program
def moves_all_tensors_on_the_memory(L):
    x = L.arange(6.0)
    y, z = x[2:], x.view(2, 3)
    before = x.is_shared()
    same = y.share_memory_() is y
    y[0] = 9
    return before, same, x.is_shared(), z.is_shared(), x, z, y.data_ptr() == x.data_ptr() + 8


@program
def keeps_what_belongs_to_the_tensor(L):
    x = L.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    with L.no_grad():
        x.add_(1)
    version = x._version
    x.share_memory_()
    (x * 3).sum().backward()
    return x, x.grad, x._version == version, x.grad.is_shared(), L.zeros(0).share_memory_().is_shared()


@program
def modules(L):
    L.manual_seed(0)
    model = L.nn.Sequential(L.nn.Linear(2, 2), L.nn.BatchNorm1d(2))
    shared = model.share_memory() is model
    return shared, [t.is_shared() for t in model.state_dict().values()], dict(model.state_dict())


@program
def storages(L):
    x = L.arange(4.0)[1:]
    storage = x.untyped_storage()
    return (
        (storage.nbytes(), storage.size(), len(storage), str(storage.device), storage[7], storage.tolist()[-4:]),
        storage.data_ptr() == x.data_ptr() - 4,
        L.is_storage(storage),
        storage.is_shared(),
        storage.share_memory_().is_shared(),
        x.is_shared(),
    )


def test_memory_that_others_point_to_stays():
    x = adjoint.zeros(4)
    array = x.numpy()
    with pytest.raises(RuntimeError, match="cannot move; call share_memory_"):
        x.share_memory_()
    assert not x.is_shared()
    array[0] = 5
    assert x.tolist() == [5, 0, 0, 0]
    del array
    assert x.share_memory_().is_shared()
    x.numpy()[1] = 6
    assert x.tolist() == [5, 6, 0, 0]


def test_memory_saved_for_backward():
    x = adjoint.ones(3, requires_grad=True)
    w = adjoint.ones(3)
    y = (x * w).sum()
    try:
        w.share_memory_()
    except RuntimeError:
        assert not w.is_shared()
    y.backward()
    assert x.grad.tolist() == [1, 1, 1]


def add_one(tensor):
    tensor += 1


def test_a_forked_process_writes_into_shared_memory():
    shared, own = adjoint.zeros(3).share_memory_(), adjoint.zeros(3)
    for tensor in (shared, own):
        process = FORK.Process(target=add_one, args=(tensor,))
        process.start()
        process.join()
        assert process.exitcode == 0
    assert shared.tolist() == [1, 1, 1]
    assert own.tolist() == [0, 0, 0]


def serve(requests, replies):
    """Doubles in place what comes, and sends its type and place back."""
    for tensor in iter(requests.get, None):
        with adjoint.no_grad():
            tensor.mul_(2)
        state = getattr(tensor, "note", None)
        replies.put((type(tensor).__name__, tuple(tensor.shape), tensor.stride(), tensor.requires_grad, state))
        replies.put(tensor)


def test_tensors_go_through_queues_without_copies():
    requests, replies = FORK.SimpleQueue(), FORK.SimpleQueue()
    process = FORK.Process(target=serve, args=(requests, replies))
    process.start()
    base = adjoint.arange(6.0).view(2, 3)
    parameter = adjoint.nn.Parameter(adjoint.ones(2))
    noted = adjoint.tensor([1, 2], dtype=adjoint.int32)
    noted.note = "kept"
    for tensor in (base.t()[1:], parameter, noted, adjoint.ones(0)):
        values = tensor.tolist()
        requests.put(tensor)
        name, shape, stride, grad, state = replies.get()
        back = replies.get()
        assert (name, shape, stride) == (type(tensor).__name__, tuple(tensor.shape), tensor.stride())
        assert (grad, state) == (tensor.requires_grad, getattr(tensor, "note", None))
        assert tensor.tolist() == back.tolist() == (adjoint.tensor(values) * 2).tolist()
        assert back.is_shared()
        assert type(back) is type(tensor)
        assert not back._is_view()
    requests.put(None)
    process.join()
    assert base.tolist() == [[0, 2, 4], [3, 8, 10]]


def test_computed_tensors_are_not_sent():
    y = adjoint.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        FORK.SimpleQueue().put(y)


def test_arrays_of_other_libraries_still_go_through():
    queue = FORK.SimpleQueue()
    queue.put(np.arange(3))
    assert queue.get().tolist() == [0, 1, 2]


def fill_place(index, tensor):
    tensor[index] = index + 1


def fail_in_one(index, tensor):
    if index == 1:
        raise ValueError("no place")
    signal.pause()


def kill_itself(index):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(index):
    os._exit(3)


def test_processes_that_run_one_function():
    tensor = adjoint.zeros(2).share_memory_()
    multiprocessing.start_processes(fill_place, (tensor,), nprocs=2, start_method="fork")
    assert tensor.tolist() == [1, 2]


def test_processes_end_together_when_one_fails():
    with pytest.raises(
        multiprocessing.ProcessRaisedException, match="Process 1 terminated with the following"
    ) as caught:
        multiprocessing.start_processes(fail_in_one, (adjoint.zeros(2),), nprocs=2, start_method="fork")
    assert "ValueError: no place" in str(caught.value)
    assert caught.value.error_index == 1
    with pytest.raises(
        multiprocessing.ProcessExitedException, match="process 0 terminated with signal SIGKILL"
    ) as caught:
        multiprocessing.start_processes(kill_itself, nprocs=1, start_method="fork")
    assert (caught.value.exit_code, caught.value.signal_name) == (-9, "SIGKILL")
    with pytest.raises(multiprocessing.ProcessExitedException, match="process 0 terminated with exit code 3"):
        multiprocessing.start_processes(leave, nprocs=1, start_method="fork")


def test_spawned_processes_share_memory_too():
    tensor = adjoint.zeros(1).share_memory_()
    multiprocessing.spawn(fill_place, (tensor,), nprocs=1)
    assert tensor.tolist() == [1]


def test_strategies():
    assert multiprocessing.get_sharing_strategy() in multiprocessing.get_all_sharing_strategies()
    multiprocessing.set_sharing_strategy("file_system")
    with pytest.raises(AssertionError, match="set_sharing_strategy"):
        multiprocessing.set_sharing_strategy("pigeons")


def test_bad_files_are_refused():
    file = os.open("/dev/null", os.O_RDWR)
    with pytest.raises(RuntimeError, match="shared memory: the file has 0 bytes, 8 are needed"):
        adjoint._C._map_shared(file, 8)
    with pytest.raises(RuntimeError, match="shared memory"):
        adjoint._C._map_shared(-1, 8)
    with pytest.raises(ValueError, match="negative"):
        adjoint._C._map_shared(0, -1)
    for bad in ((), (1,), [adjoint.zeros(1)], None):
        with pytest.raises(TypeError):
            adjoint._C._share_memory(bad)
    with pytest.raises(RuntimeError, match="only available on CPU"):
        adjoint._C._share_memory(adjoint.empty(1, device="meta"))
