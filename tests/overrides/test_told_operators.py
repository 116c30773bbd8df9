"""Operators, conversions and indexing: what `__torch_function__` is told of each, against torch."""

import operator

import numpy as np
import pytest

from ..compare import LIBRARIES
from .told import computing

BINARY = ["+", "-", "*", "/", "//", "%", "**", "@", "==", "!=", "<", "<=", ">", ">="]
OF_INTEGERS = ["+", "*", "//", "%", "&", "|", "^", "<<", ">>", "=="]
PAIRS = [
    "x,x",
    "x,2",
    "2,x",
    "x,p",
    "p,x",
    "x,2.5",
    "2.5,x",
    "x,None",
    "None,x",
    "x,'a'",
    "x,np.float64(2)",
    "np.float64(2),x",
]
INTEGER_PAIRS = ["i,i", "i,2", "2,i", "i,j", "j,i", "True,i", "i,True"]
IN_PLACE = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
OF_INTEGERS_IN_PLACE = ["and", "or", "xor", "lshift", "rshift"]
OTHERS = """
-x | +x | abs(x) | ~i | bool(x[0, 0]) | int(x[0, 0]) | float(x[0, 0]) | complex(x[0, 0]) | operator.index(i[0, 0])
len(x) | list(x) | sum(x) | iter(x) | reversed(x) | hash(x) and 0 | round(x) | divmod(x, 2) | 1.0 in x | x in p
x[0] | x[0, 1] | x[...] | x[:, None] | x[i > 1] | x[j > 1] | p[i > 1]
x.__setitem__(0, 1.0) | x.__setitem__((0, 1), p[0, 0]) | p.__setitem__(0, x[0]) | p.__setitem__(i > 1, 0.0)
repr(x) | str(x) | format(x) | f'{x[0, 0]:.2f}' | x.__rsub__(1) | x.__rdiv__(1) | x.__rtruediv__(2) | x.__rpow__(2)
x.__len__() | x.__bool__() | x.__nonzero__() | x.__int__() | x.__long__() | x.__iter__() | x.__eq__(1) | x.__pow__(2)
x.__ipow__(2) | i.__rand__(1) | i.__rlshift__(1) | i.__iand__(1) | L.Tensor.add(x, 1) | L.Tensor.__add__(x, 1)
"""


def expressions():
    for pair, op in ((pair, op) for op in BINARY for pair in PAIRS):
        left, right = pair.split(",")
        yield f"{left} {op} {right}"
    for pair, op in ((pair, op) for op in OF_INTEGERS for pair in INTEGER_PAIRS):
        left, right = pair.split(",")
        yield f"{left} {op} {right}"
    for name, pair in ((name, pair) for name in IN_PLACE for pair in ("x,x", "x,2", "x,p", "p,x", "x,None")):
        yield f"operator.i{name}({pair})"
    for name, pair in ((name, pair) for name in OF_INTEGERS_IN_PLACE for pair in ("i,i", "i,2", "j,i")):
        yield f"operator.i{name}({pair})"
    for line in OTHERS.strip().splitlines():
        yield from (part.strip() for part in line.split("|"))


def told(L, text):
    """What a subclass is told of an expression, and the class of what comes of it."""
    Told, calls = computing(L)
    p, j = L.tensor([[1.0, 2.0], [3.0, 4.0]]), L.tensor([[1, 1], [1, 1]])
    x, i = p.clone().as_subclass(Told), j.clone().as_subclass(Told)
    calls.clear()
    try:
        result = type(eval(text, {"L": L, "np": np, "operator": operator, "x": x, "i": i, "p": p, "j": j})).__name__
    except Exception as error:
        result = type(error).__name__, str(error)[:24]
    return calls, result


@pytest.mark.parametrize("text", list(expressions()))
def test_as_torch_tells_it(text):
    theirs, ours = (told(L, text) for L in LIBRARIES)
    assert ours == theirs
