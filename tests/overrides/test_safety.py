"""Whatever `__torch_function__` does, the interpreter goes on and the modes of the thread are whole."""

from pathlib import Path

import pytest

from ..processes import python, script

WILD = Path(__file__).with_name("wild.py")
START = "import adjoint as torch, gc\nborrowed = vars(torch.Tensor)['__torch_function__']\n"


@pytest.mark.parametrize("seed", range(3))
def test_wild_objects(seed):
    assert python("-W", "ignore", "-X", "faulthandler", WILD, seed, 1500).stdout.split() == ["whole"]


def survives(text):
    assert script(f"{START}{text}\nprint('whole')").stdout.split()[-1] == "whole"


def test_arguments_that_one_asked_object_drops():
    survives("""
class First:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args[0].clear()
        gc.collect()
        return NotImplemented
class Second:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return 7
assert torch.cat([First(), Second()]) == 7
""")


def test_results_that_hold_themselves():
    survives("""
items = []
items.append(items)
try:
    torch.Tensor.__torch_function__(lambda: items, ())
except RecursionError:
    pass
""")


def test_the_default_in_a_class_that_is_no_tensor():
    survives("""
class Foreign:
    __torch_function__ = borrowed
try:
    print(torch.add(Foreign(), torch.ones(1)))
except TypeError:
    pass
""")


def test_answers_that_python_does_not_take():
    survives("""
for answer in (-1, 10**30, None, "text", 2.5, object()):
    kind = type("Kind", (torch.Tensor,), {"__torch_function__": classmethod(lambda *_, **__: answer)})
    x = torch.ones(2).as_subclass(kind)
    for use in (len, bool, int, float, repr, str, iter, list, hash, complex, range, memoryview, x.__setitem__, dir):
        try:
            use(x)
        except (TypeError, ValueError, OverflowError, BufferError):
            pass
""")


def test_calls_without_end():
    survives("""
class Endless(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
x = torch.ones(2).as_subclass(Endless)
for call in (lambda: x + 1, lambda: x.shape, lambda: torch.exp(x), lambda: torch.nn.functional.relu(x), lambda: x[0]):
    try:
        call()
        raise SystemExit("it ended")
    except RecursionError:
        pass
""")


def test_a_thread_that_ends_inside_of_a_mode():
    survives("""
import threading
class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
for _ in range(20):
    thread = threading.Thread(target=lambda: (Mode().__enter__(), torch.ones(2)))
    thread.start()
    thread.join()
assert torch._C._len_torch_function_stack() == 0
""")


def test_the_interpreter_ends_inside_of_a_mode():
    survives("""
class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
mode = Mode().__enter__()
kept = torch.ones(2)
""")


def test_contexts_are_left_at_the_limit_of_recursion():
    survives("""
import sys
class Switching(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunction():
            return func(*args, **(kwargs or {}))
class Again:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
for limit in range(100, 130):
    sys.setrecursionlimit(limit)
    with Switching():
        try:
            torch.Tensor.__eq__(torch.ones(2), (Again(),))
        except RecursionError:
            pass
    assert torch._C._overrides() == (True, True), limit
""")
