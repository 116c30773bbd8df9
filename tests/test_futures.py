"""torch.futures: values that come later."""

import pickle
import threading

import pytest

import adjoint

from .compare import LIBRARIES, same


def test_a_result():
    def run(L):
        future = L.futures.Future()
        before = future.done()
        future.set_result(3)
        return before, future.done(), future.value(), future.wait()

    same(run)


def test_callbacks_run_in_order_once_the_value_is_there():
    def run(L):
        seen = []
        future = L.futures.Future()
        after = future.then(lambda done: seen.append(done is future) or done.value() + 1)
        future.add_done_callback(lambda done: seen.append(done.value()))
        seen.append(after.done())
        future.set_result(1)
        future.add_done_callback(lambda done: seen.append("late"))
        return seen, after.wait(), after.then(lambda done: done.value() * 2).wait()

    same(run)


def failed(L, error):
    future = L.futures.Future()
    future.set_exception(error)
    return future


def done(L, value):
    future = L.futures.Future()
    future.set_result(value)
    return future


@pytest.mark.parametrize(
    "call",
    [
        lambda L: failed(L, ValueError("wrong")).wait(),
        lambda L: failed(L, KeyError("wrong")).value(),
        lambda L: L.futures.Future().set_exception(3),
        lambda L: done(L, 1).set_result(2),
        lambda L: done(L, 1).set_exception(ValueError()),
        lambda L: L.futures.wait_all([done(L, 1), failed(L, ValueError("second"))]),
        lambda L: L.futures.collect_all([failed(L, ValueError("first")), failed(L, KeyError("second"))]).wait(),
        lambda L: L.futures.Future(devices=["cpu"]),
        lambda L: L.futures.Future(3),
        lambda L: pickle.dumps(L.futures.Future()),
    ],
)
def test_errors(call):
    same(call)


@pytest.mark.parametrize("L", LIBRARIES, ids=lambda L: L.__name__)
@pytest.mark.parametrize(
    "call",
    [
        lambda L: L.futures.Future().then(3),
        lambda L: L.futures.Future().add_done_callback(3),
        lambda L: L.futures.collect_all(3),
        lambda L: L.futures.collect_all([3]),
        lambda L: L.futures.wait_all([3]),
    ],
)
def test_what_is_no_function_or_future(L, call):
    with pytest.raises(TypeError, match=r"\(\): incompatible function arguments"):
        call(L)


def test_the_value_of_a_future_that_is_not_done():
    with pytest.raises(RuntimeError, match=r"completed\(\)"):
        adjoint.futures.Future().value()


@pytest.mark.parametrize("L", LIBRARIES, ids=lambda L: L.__name__)
def test_errors_of_callbacks(L, capfd):
    future = L.futures.Future()
    after = future.then(lambda done: 1 / 0)
    future.add_done_callback(lambda done: 1 / 0)
    future.set_result(1)
    words = "Got the following error when running the callback: ZeroDivisionError: division by zero"
    with pytest.raises(RuntimeError, match=words):
        after.wait()
    assert words in capfd.readouterr().err


def test_an_exception_can_be_made_good():
    same(lambda L: failed(L, ValueError("wrong")).then(lambda future: 5).wait())


def test_many():
    def run(L):
        futures = [L.futures.Future() for _ in range(3)]
        together = L.futures.collect_all(futures)
        states = []
        for number, future in enumerate(futures):
            states.append(together.done())
            future.set_result(number)
        return states, [future.value() for future in together.wait()], L.futures.wait_all(futures)

    same(run)
    same(lambda L: (L.futures.collect_all([]).wait(), L.futures.wait_all([])))


def test_threads():
    future = adjoint.futures.Future()
    results = []
    waiting = [threading.Thread(target=lambda: results.append(future.wait())) for _ in range(8)]
    for thread in waiting:
        thread.start()
    future.set_result(adjoint.ones(2))
    for thread in waiting:
        thread.join()
    assert [result.tolist() for result in results] == [[1, 1]] * 8


def test_one_of_many_threads_sets_the_value():
    future, set_by = adjoint.futures.Future(), []
    start = threading.Barrier(8)

    def run(number):
        start.wait()
        try:
            future.set_result(number)
        except RuntimeError:
            return
        set_by.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set_by == [future.value()]


def test_generic_and_of_jit():
    assert adjoint.futures.Future[int] is not None
    assert adjoint.jit.Future is adjoint.futures.Future is adjoint.Future
