"""Runs calls on objects whose `__torch_function__` misbehaves; `python wild.py SEED COUNT` ends in `whole` or crashes.

Each object does one wrong thing when it is asked: raises, returns rubbish, changes or drops its arguments, deletes the
method of its class, takes modes off, or calls again and again. After each call the modes must be those from before.
"""

import functools
import gc
import random
import sys

import adjoint as torch

NAMES = """
add cat stack where exp sum max split einsum matmul tensor ones unique allclose autograd.grad nn.init.uniform_
nn.functional.relu nn.functional.linear nn.functional.mse_loss Tensor.add Tensor.add_ Tensor.norm Tensor.view
Tensor.backward Tensor.shape.__get__ Tensor.grad.__get__ Tensor.data.__get__ Tensor.data.__set__ Tensor.item
Tensor.__getitem__ Tensor.__setitem__ Tensor.__add__ Tensor.__rsub__ Tensor.__len__ Tensor.__bool__ Tensor.__iter__
Tensor.__repr__ Tensor.__eq__ Tensor.__iadd__ Tensor.__contains__ Tensor.__reduce_ex__ Tensor.__torch_function__
Tensor.numpy overrides.has_torch_function overrides.handle_torch_function overrides._get_overloaded_args
"""
FUNCTIONS = [functools.reduce(getattr, name.split("."), torch) for name in NAMES.split()]
FUNCTIONS += [repr, len, list, bool, float, hash, str, iter, abs, sorted]
RUBBISH = [None, 0, -1, 10**30, "text", object(), NotImplemented, torch.Tensor, torch.ones(2), (), [torch.ones(1)]]
BORROWED = vars(torch.Tensor)["__torch_function__"]


class Wild(Exception):
    """What objects raise on purpose."""


def cyclic():
    items = [torch.ones(1)]
    items.append(items)
    return items


def behaviours(rng):
    """What an object may do when it is asked: functions of (cls, func, types, args, kwargs)."""

    def raising(cls, func, types, args=(), kwargs=None):
        raise rng.choice([Wild, KeyError, RecursionError, MemoryError, StopIteration])("wild")

    def rubbish(cls, func, types, args=(), kwargs=None):
        return rng.choice(RUBBISH)

    def default(cls, func, types, args=(), kwargs=None):
        return BORROWED.__get__(None, cls)(func, types, args, kwargs or {})

    def dropping(cls, func, types, args=(), kwargs=None):
        for arg in args:
            if isinstance(arg, list):
                arg.clear()
        (kwargs or {}).clear()
        gc.collect(0)
        return NotImplemented

    def deleting(cls, func, types, args=(), kwargs=None):
        for kind in types:
            if "__torch_function__" in vars(kind) and kind is not torch.Tensor:
                del kind.__torch_function__
        return rng.choice([NotImplemented, 3])

    def exchanging(cls, func, types, args=(), kwargs=None):
        cls.__torch_function__ = rng.choice([None, 5, torch._C._disabled_torch_function_impl, classmethod(rubbish)])
        return func(*args, **(kwargs or {}))

    def popping(cls, func, types, args=(), kwargs=None):
        if torch._C._len_torch_function_stack():
            torch._C._push_on_torch_function_stack(torch._C._pop_torch_function_stack())
        return NotImplemented

    def switching(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunction():
            return func(*args, **(kwargs or {}))

    def again(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

    def nested(cls, func, types, args=(), kwargs=None):
        return cyclic()

    def fewer():
        return 1

    def becoming(cls, func, types, args=(), kwargs=None):
        for arg in args:
            if isinstance(arg, torch.Tensor) and type(arg) is not torch.Tensor:
                arg.__class__ = OTHER
        return NotImplemented

    of_values = [raising, rubbish, popping, switching, again, nested]
    return [*of_values, default, dropping, deleting, exchanging, fewer, becoming]


OTHER = type("Other", (torch.Tensor,), {})


def thing(rng):
    """An object that misbehaves: foreign, a subclass, a list of one, or a plain value."""
    does = classmethod(rng.choice(behaviours(rng)))
    if rng.random() < 0.1:
        does = rng.choice([None, 5, "text", property(lambda self: 1 / 0), BORROWED, BORROWED])
    names = {"__torch_function__": does}
    foreign, kept = type("Foreign", (), names), type("Kept", (torch.Tensor,), names)
    derived = type("Derived", (kept,), {})
    with torch._C.DisableTorchFunction():
        values = [foreign(), torch.ones(2).as_subclass(kept), torch.ones(2, 2).as_subclass(derived), torch.ones(2), 1]
        values += [torch.ones(2, requires_grad=True), "ij", None]
    value = rng.choice(values)
    return rng.choice([value, value, value, [value], [value, torch.ones(2), foreign()], (value,)])


def mode(rng):
    does = rng.choice(behaviours(rng)[:6])

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return does(torch.Tensor, func, types, args, kwargs)

    return Mode()


def call(rng):
    function = rng.choice(FUNCTIONS)
    args = [thing(rng) for _ in range(rng.randrange(1, 4))]
    kwargs = {"out": thing(rng)} if rng.random() < 0.1 else {}
    return function(*args, **kwargs)


def one(rng):
    """A call, inside of some modes."""
    modes = [mode(rng) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    for entered in modes:
        entered.__enter__()
    try:
        call(rng)
    except Exception:  # whatever it is: the interpreter goes on
        pass
    finally:
        here = torch._C._len_torch_function_stack()
        for entered in modes:
            entered.__exit__(None, None, None)
    assert here == len(modes), (here, len(modes))


def main(seed, count):
    sys.setrecursionlimit(200)
    for number in range(count):
        one(random.Random(seed * 1000003 + number))
        assert torch._C._len_torch_function_stack() == 0
        assert torch._C._overrides() == (True, True)
        assert type(torch.ones(1) + 1) is torch.Tensor
    print("whole")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
