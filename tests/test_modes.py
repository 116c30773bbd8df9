"""Grad modes against torch, as contexts and as decorators, and the tensors of inference mode."""

import asyncio
import contextlib
import copy
import functools
import inspect
import threading

import numpy as np
import pytest

import adjoint

from .compare import leaf, programs, raised, same

program, test_program = programs()

MODES = {
    "no_grad()": lambda L: L.no_grad(),
    "no_grad": lambda L: L.no_grad,
    "enable_grad()": lambda L: L.enable_grad(),
    "enable_grad": lambda L: L.enable_grad,
    "set_grad_enabled(False)": lambda L: L.set_grad_enabled(False),
    "set_grad_enabled(True)": lambda L: L.set_grad_enabled(True),
    "set_grad_enabled(mode=False)": lambda L: L.set_grad_enabled(mode=False),
    "inference_mode()": lambda L: L.inference_mode(),
    "inference_mode": lambda L: L.inference_mode,
    "inference_mode(False)": lambda L: L.inference_mode(False),
    "inference_mode(True)": lambda L: L.inference_mode(True),
    "inference_mode(mode=False)": lambda L: L.inference_mode(mode=False),
}
OUTSIDE = {
    "plain": lambda L: [],
    "no_grad": lambda L: [L.no_grad()],
    "inference_mode": lambda L: [L.inference_mode()],
    "inference_mode, enable_grad": lambda L: [L.inference_mode(), L.enable_grad()],
}


def state(L):
    return L.is_grad_enabled(), L.is_inference_mode_enabled()


def in_every_mode(program):
    """A test of program(L, mode) for each mode, inside of each other mode."""

    @pytest.mark.parametrize("mode", MODES)
    def test(mode):
        def run(L):
            found = {}
            for name, outside in OUTSIDE.items():
                before = state(L)
                with contextlib.ExitStack() as stack:
                    for context in outside(L):
                        stack.enter_context(context)
                    found[name] = raised(lambda: program(L, MODES[mode](L))), state(L)
                assert state(L) == before
            return found

        same(run)

    return test


# ---- as contexts


@in_every_mode
def test_context(L, mode):
    x = leaf(L, 1.0)
    with mode as target:
        y = x * 2
        inside = state(L)
        fresh = L.ones(2)
    return target, inside, y.requires_grad, y.is_inference(), fresh.is_inference()


@in_every_mode
def test_context_left_by_an_exception(L, mode):
    inside = []
    try:
        with mode:
            inside.append(state(L))
            raise KeyError("x")
    except KeyError as error:
        return inside, str(error)


@in_every_mode
def test_context_used_twice(L, mode):
    seen = []
    with mode:
        seen.append(state(L))
    seen.append(state(L))
    with mode:
        seen.append(state(L))
    return seen


@in_every_mode
def test_context_inside_itself(L, mode):
    seen = []
    with mode:
        with mode:
            seen.append(state(L))
        seen.append(state(L))
    return seen


@in_every_mode
def test_changed_inside(L, mode):
    with mode:
        L.set_grad_enabled(not L.is_grad_enabled())
        inside = state(L)
    return inside


@in_every_mode
def test_attributes(L, mode):
    mode = mode() if isinstance(mode, type) else mode
    with mode:
        clone = mode.clone()
        return (
            [getattr(mode, name, "none") for name in ("mode", "prev")],
            type(mode).__name__,
            type(clone) is type(mode),
        )


# ---- as decorators


@in_every_mode
def test_function(L, mode):
    @mode
    def f(x, *, factor=2):
        """Doubles."""
        return x * factor, state(L)

    x = leaf(L, 1.0)
    (y, inside), (z, _) = f(x), f(x, factor=3)
    names = f.__name__, f.__doc__, hasattr(f, "__wrapped__"), f.__qualname__.rsplit(".", 1)[-1]
    return y.requires_grad, y.is_inference(), z.tolist(), inside, names, str(inspect.signature(f))


@in_every_mode
def test_function_that_raises(L, mode):
    @mode
    def f():
        raise KeyError(str(state(L)))

    return raised(f), state(L)


@in_every_mode
def test_recursive_function(L, mode):
    @mode
    def f(n):
        return [state(L)] + (f(n - 1) if n else [])

    return f(3)


@in_every_mode
def test_function_that_changes_the_mode(L, mode):
    @mode
    def f():
        L.set_grad_enabled(not L.is_grad_enabled())
        return state(L)

    return f(), state(L), f(), state(L)


@in_every_mode
def test_lambda_partial_and_builtin(L, mode):
    class Callable:
        def __call__(self):
            return state(L)

    return (
        mode(lambda: state(L))(),
        raised(lambda: mode(functools.partial(lambda n: (n, state(L)), 3))()),
        raised(lambda: mode(Callable())()),
        mode(len)([1, 2]),
    )


@in_every_mode
def test_methods(L, mode):
    class Thing:
        @mode
        def method(self):
            return type(self).__name__, state(L)

        @staticmethod
        @mode
        def static():
            return state(L)

        @classmethod
        @mode
        def of_class(cls):
            return cls.__name__, state(L)

        @property
        @mode
        def attribute(self):
            return state(L)

    thing = Thing()
    return thing.method(), thing.static(), thing.of_class(), thing.attribute


@in_every_mode
def test_generator(L, mode):
    log = []

    @mode
    def f(x):
        log.append(("start", state(L)))
        sent = yield x * 2
        log.append(("sent", sent, state(L)))
        try:
            yield 2
        except KeyError:
            log.append(("thrown", state(L)))
        yield 3
        return "end"

    outer = leaf(L, 1.0)
    g = f(outer)
    first = next(g)
    log.append(state(L))
    log.append(g.send("word"))
    log.append(state(L))
    log.append(g.throw(KeyError("k")))
    log.append(state(L))
    log.append(raised(lambda: next(g)))
    return first.requires_grad, log, f.__name__, inspect.isgeneratorfunction(f), inspect.isgenerator(g)


@in_every_mode
def test_generator_closed(L, mode):
    log = []

    @mode
    def f():
        try:
            yield 1
            yield 2
        except GeneratorExit:
            log.append(("exit", state(L)))
            raise
        finally:
            log.append(("finally", state(L)))

    g = f()
    next(g)
    g.close()
    log.append(state(L))
    log.append(raised(lambda: next(g)))
    f().close()
    return log


@in_every_mode
def test_generator_that_ignores_close(L, mode):
    @mode
    def f():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    g = f()
    next(g)
    return raised(g.close), state(L)


@in_every_mode
def test_generator_that_raises(L, mode):
    @mode
    def f():
        yield 1
        raise KeyError(str(state(L)))

    g = f()
    next(g)
    return raised(lambda: next(g)), state(L), raised(lambda: next(g))


@in_every_mode
def test_generator_not_catching(L, mode):
    @mode
    def f():
        yield 1

    g = f()
    next(g)
    return raised(lambda: g.throw(ValueError("thrown"))), state(L), raised(lambda: next(g))


@in_every_mode
def test_generator_that_changes_the_mode(L, mode):
    @mode
    def f():
        L.set_grad_enabled(not L.is_grad_enabled())
        yield state(L)
        yield state(L)

    g = f()
    return next(g), state(L), next(g), state(L)


@in_every_mode
def test_generator_resumed_in_another_mode(L, mode):
    @mode
    def f():
        while True:
            yield state(L)

    g = f()
    seen = [next(g)]
    with L.no_grad():
        seen += [next(g), state(L)]
    with L.enable_grad():
        seen += [next(g), state(L)]
    with L.inference_mode():
        seen += [next(g), state(L)]
    return seen


@in_every_mode
def test_generators_interleaved(L, mode):
    @mode
    def f(n):
        for i in range(n):
            yield i, state(L)

    return list(zip(f(3), f(2), strict=False)), state(L)


@in_every_mode
def test_generator_delegation(L, mode):
    @mode
    def inner():
        got = yield state(L)
        return got

    @mode
    def outer():
        result = yield from inner()
        yield result, state(L)

    g = outer()
    return next(g), g.send(5), list(outer())


@in_every_mode
def test_generator_return_value(L, mode):
    @mode
    def f():
        yield 1
        return 7

    def outer():
        value = yield from f()
        yield value

    return list(outer())


# torch runs the body of a decorated coroutine outside of the mode; here it runs inside.


def expected_inside(mode):
    with MODES[mode](adjoint) if mode.endswith(")") else MODES[mode](adjoint)():
        return state(adjoint)


@pytest.mark.parametrize("mode", MODES)
def test_coroutine(mode):
    inside, outside = expected_inside(mode), state(adjoint)
    seen = []

    @MODES[mode](adjoint)
    async def f(n):
        """Waits."""
        seen.append(state(adjoint))
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append(state(adjoint))
        if n == 2:
            raise KeyError("two")
        return n

    async def other():
        for _ in range(5):
            assert state(adjoint) == outside
            await asyncio.sleep(0)

    async def main():
        return await asyncio.gather(f(1), f(2), other(), f(3), return_exceptions=True)

    results = asyncio.run(main())
    assert [results[0], str(results[1]), results[2], results[3]] == [1, "'two'", None, 3]
    assert seen == [inside] * 12
    assert state(adjoint) == outside
    assert inspect.iscoroutinefunction(f)
    assert (f.__name__, f.__doc__) == ("f", "Waits.")


@pytest.mark.parametrize("mode", MODES)
def test_coroutine_cancelled(mode):
    inside, seen = expected_inside(mode), []

    @MODES[mode](adjoint)
    async def f():
        try:
            await asyncio.sleep(10)
        finally:
            seen.append(state(adjoint))
            await asyncio.sleep(0)
            seen.append(state(adjoint))

    async def main():
        task = asyncio.ensure_future(f())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    f().close()
    assert seen == [inside] * 2


@pytest.mark.parametrize("mode", MODES)
def test_async_generator(mode):
    inside, outside, log = expected_inside(mode), state(adjoint), []

    @MODES[mode](adjoint)
    async def f():
        try:
            await asyncio.sleep(0)
            got = yield state(adjoint)
            try:
                yield got, state(adjoint)
            except KeyError as error:
                await asyncio.sleep(0)
                yield str(error), state(adjoint)
            yield 4
        finally:
            await asyncio.sleep(0)
            log.append(state(adjoint))

    async def main():
        g = f()
        found = [await g.__anext__(), await g.asend("sent"), await g.athrow(KeyError("thrown"))]
        await g.aclose()
        assert state(adjoint) == outside
        found.append([value async for value in f()][1:])
        return found

    assert asyncio.run(main()) == [inside, ("sent", inside), ("'thrown'", inside), [(None, inside), 4]]
    assert log == [inside] * 2
    assert inspect.isasyncgenfunction(f)


@in_every_mode
def test_class(L, mode):
    class Thing:
        """A thing."""

        def __init__(self, x):
            self.made = state(L)
            self.y = x * 2

        def method(self):
            return state(L)

    Decorated = mode(Thing)
    x = leaf(L, 1.0)
    with L.enable_grad():
        thing = Decorated(x)
    is_type = isinstance(Decorated, type)
    return is_type, Decorated is Thing, Decorated.__name__, thing.made, thing.method(), thing.y.requires_grad


@in_every_mode
def test_class_without_init(L, mode):
    class Thing:
        pass

    return type(mode(Thing)()).__name__


# ---- arguments that are no modes


ARGUMENTS = {
    "set_grad_enabled()": lambda L: L.set_grad_enabled(),
    "set_grad_enabled(None)": lambda L: L.set_grad_enabled(None),
    "set_grad_enabled(0)": lambda L: L.set_grad_enabled(0),
    "set_grad_enabled(1)": lambda L: L.set_grad_enabled(1),
    "set_grad_enabled('no')": lambda L: L.set_grad_enabled("no"),
    "set_grad_enabled(1.5)": lambda L: L.set_grad_enabled(1.5),
    "set_grad_enabled([])": lambda L: L.set_grad_enabled([]),
    "set_grad_enabled(tensor)": lambda L: L.set_grad_enabled(L.tensor(True)),
    "inference_mode(None)": lambda L: L.inference_mode(None),
    "inference_mode(0)": lambda L: L.inference_mode(0),
    "inference_mode(1)": lambda L: L.inference_mode(1),
    "no_grad(True)": lambda L: L.no_grad(True),
    "enable_grad(False)": lambda L: L.enable_grad(False),
    "no_grad of a number": lambda L: L.no_grad()(3),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    def run(L):
        before = state(L)
        try:
            mode = ARGUMENTS[name](L)
            inside = state(L)
            if hasattr(mode, "__enter__"):
                with mode:
                    inside = inside, state(L)
            return type(mode).__name__, inside, state(L)
        finally:
            L.set_grad_enabled(before[0])

    same(run)


def test_threads_have_modes_of_their_own():
    def run(L):
        seen = []

        def work():
            seen.append(state(L))
            L.set_grad_enabled(False)
            seen.append(state(L))

        for mode in (L.no_grad(), L.inference_mode(), L.enable_grad()):
            with mode:
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
                seen.append(state(L))
        return seen, state(L)

    same(run)


# ---- tensors of inference mode


@program
def is_inference(L):
    x, z = leaf(L, 1.0, 2.0), L.ones(2)
    with L.inference_mode():
        made = {
            "result": x * 2,
            "of constants": z + 1,
            "factory": L.ones(2),
            "like": L.zeros_like(x),
            "clone": x.clone(),
            "view": x.view(2, 1),
            "view of a constant": z[:1],
            "detach": x.detach(),
            "data": x.data,
            "in place": z.add_(1),
            "cast": x.double(),
            "cast to the same": x.float(),
            "contiguous": x.contiguous(),
            "expand": x.expand(3, 2),
            "split": x.split(1)[0],
            "requires grad": L.ones(2, requires_grad=True),
            "requires grad, used": L.ones(2, requires_grad=True) * 2,
            "leaf's own view": L.ones(2)[:1],
            "from data": L.tensor([1.0]),
            "random": L.rand(2),
            "empty out": L.add(z, 1, out=L.empty(2)),
            "reshape": x.reshape(2, 1),
            "numpy": L.from_numpy(np.ones(2)),
        }
        inside = {key: tensor.is_inference() for key, tensor in made.items()}
    return inside, {key: state_of(tensor) for key, tensor in made.items()}, L.is_inference(made["result"]), state_of(x)


def state_of(tensor):
    return {
        "inference": tensor.is_inference(),
        "requires_grad": tensor.requires_grad,
        "leaf": tensor.is_leaf,
        "view": tensor._is_view(),
        "base": tensor._base is not None,
        "grad_fn": raised(lambda: tensor.grad_fn and tensor.grad_fn.name()),
    }


USES = {
    "add": lambda L, t, x: t + 1,
    "add of a leaf": lambda L, t, x: t + x,
    "mul of a leaf": lambda L, t, x: x * t,
    "mul of a constant": lambda L, t, x: t * L.ones(2),
    "div of a leaf": lambda L, t, x: x / t,
    "matmul": lambda L, t, x: x @ t,
    "exp": lambda L, t, x: t.exp(),
    "clone": lambda L, t, x: t.clone(),
    "clone, grad": lambda L, t, x: t.clone().requires_grad_(),
    "clone, mul": lambda L, t, x: x * t.clone(),
    "view": lambda L, t, x: t.view(2, 1),
    "view, grad": lambda L, t, x: t.view(2, 1).requires_grad_(),
    "slice": lambda L, t, x: t[:1],
    "detach": lambda L, t, x: t.detach(),
    "data": lambda L, t, x: t.data,
    "expand": lambda L, t, x: t.expand(2, 2),
    "split": lambda L, t, x: t.split(1)[0],
    "in place": lambda L, t, x: t.add_(1),
    "in place, no_grad": lambda L, t, x: L.no_grad()(t.add_)(1),
    "in place, inference": lambda L, t, x: L.inference_mode()(t.add_)(1),
    "zero_": lambda L, t, x: t.zero_(),
    "copy_": lambda L, t, x: t.copy_(x),
    "assign": lambda L, t, x: t.__setitem__(0, 3.0),
    "assign a mask": lambda L, t, x: t.__setitem__(t > 0, 3.0),
    "in place on a view": lambda L, t, x: t[:1].mul_(2),
    "in place on detach": lambda L, t, x: t.detach().mul_(2),
    "in place on data": lambda L, t, x: t.data.mul_(2),
    "in place of a clone": lambda L, t, x: t.clone().add_(1),
    "normal += inference": lambda L, t, x: L.ones(2).add_(t),
    "normal *= inference": lambda L, t, x: L.ones(2).mul_(t),
    "non-leaf += inference": lambda L, t, x: (x * 1).add_(t),
    "non-leaf *= inference": lambda L, t, x: (x * 1).mul_(t),
    "copy_ of inference": lambda L, t, x: L.zeros(2).copy_(t),
    "copy_ to a non-leaf": lambda L, t, x: (x * 1).copy_(t),
    "out=": lambda L, t, x: L.add(L.ones(2), 1, out=t),
    "out= of inference": lambda L, t, x: L.add(t, 1, out=L.empty(2)),
    "requires_grad_": lambda L, t, x: t.requires_grad_(),
    "requires_grad_(False)": lambda L, t, x: t.requires_grad_(False),
    "requires_grad =": lambda L, t, x: setattr(t, "requires_grad", True),
    "requires_grad_ in inference": lambda L, t, x: L.inference_mode()(t.requires_grad_)(),
    "detach_": lambda L, t, x: t.detach_(),
    "_version": lambda L, t, x: t._version,
    "grad_fn": lambda L, t, x: t.grad_fn,
    "retain_grad": lambda L, t, x: t.retain_grad(),
    "register_hook": lambda L, t, x: t.register_hook(print),
    "grad =": lambda L, t, x: setattr(t, "grad", L.ones(2)),
    "leaf.grad = t": lambda L, t, x: (setattr(x, "grad", t), x.grad is t, (x * 3).sum().backward(), x.grad),
    "backward": lambda L, t, x: t.sum().backward(),
    "gradient of backward": lambda L, t, x: ((x * 3).backward(t), x.grad, x.grad.is_inference()),
    "gradient with create_graph": lambda L, t, x: ((x * x).backward(t, create_graph=True), x.grad.tolist()),
    "sum of": lambda L, t, x: t.sum(),
    "cat": lambda L, t, x: L.cat([x, t]),
    "where": lambda L, t, x: L.where(t > 0, x, t),
    "index": lambda L, t, x: x[t.long()],
    "index saved": lambda L, t, x: x.gather(0, L.inference_mode()(t.long)()),
    "pow": lambda L, t, x: x**t,
    "data =": lambda L, t, x: (setattr(x, "data", t), x.is_inference(), x.requires_grad),
    "numpy": lambda L, t, x: t.numpy().tolist(),
    "to": lambda L, t, x: t.to(L.float64),
    "to itself": lambda L, t, x: t.to(L.float32) is t,
    "tolist": lambda L, t, x: t.tolist(),
    "new": lambda L, t, x: t.new_ones(2),
    "like": lambda L, t, x: L.ones_like(t),
    "double twice": lambda L, t, x: (t.double() * 2).requires_grad_(),
    "as_tensor": lambda L, t, x: L.as_tensor(t) is t,
    "deepcopy": lambda L, t, x: copy.deepcopy(t),
    "leaf.copy_": lambda L, t, x: L.no_grad()(x.copy_)(t),
    "leaf, mul_": lambda L, t, x: L.no_grad()(x.mul_)(t),
}


def outcome_of(L, use, t, x):
    """What comes of a use, and the state of the tensors."""
    result = raised(lambda: USES[use](L, t, x))
    state = state_of(result) if isinstance(result, L.Tensor) else None
    return result, state, state_of(t), raised(lambda: t._version), raised(lambda: x._version)


@pytest.mark.parametrize("use", USES)
def test_use_of_an_inference_tensor(use):
    def run(L):
        x = leaf(L, 1.0, 2.0)
        with L.inference_mode():
            t = L.tensor([0.0, 1.0])
        return outcome_of(L, use, t, x)

    same(run)


# torch does not record ops on inference tensors alone, refuses to change leaves first, and gives clones other names.
LEFT_OPEN = {"exp", "clone", "clone, grad", "view", "slice", "expand", "split", "in place", "copy_", "assign a mask"}
LEFT_OPEN |= {"detach_", "register_hook", "backward", "sum of", "to"}


@pytest.mark.parametrize("use", [use for use in USES if use not in LEFT_OPEN])
def test_use_of_an_inference_tensor_that_requires_grad(use):
    def run(L):
        x = leaf(L, 1.0, 2.0)
        with L.inference_mode():
            t = L.tensor([0.0, 1.0], requires_grad=True)
        return outcome_of(L, use, t, x)

    same(run)


@pytest.mark.parametrize("use", USES)
def test_use_inside_of_inference_mode(use):
    def run(L):
        x, t = leaf(L, 1.0, 2.0), L.tensor([0.0, 1.0])
        with L.inference_mode():
            return outcome_of(L, use, t, x)

    same(run)


@pytest.mark.parametrize("use", USES)
def test_use_of_a_view_made_in_inference_mode(use):
    def run(L):
        x, base = leaf(L, 1.0, 2.0), L.tensor([0.0, 1.0, 2.0])
        with L.inference_mode():
            t = base[:2]
        return outcome_of(L, use, t, x), base

    same(run)
