"""Calls every op with one argument that makes no sense, and finds the errors that say nothing of the call.

An error is raw when the interpreter raised it in a line of the package: "'NoneType' object is not iterable". One that
was written for the caller, by a `raise` or by the native core, is not, whatever it says.
"""

import opcode
import re
import traceback
from pathlib import Path

import adjoint

from .samples import find
from .test_op_table import samples_by_name

PACKAGE = str(Path(adjoint.__file__).parent)
# Each stands in the place of each argument once.
NONSENSE = {
    "None": lambda: None,
    "str": lambda: "abc",
    "list": lambda: [1, 2],
    "nested list": lambda: [[1], [2, 3]],
    "list of str": lambda: ["a"],
    "empty tuple": lambda: (),
    "dict": dict,
    "object": object,
    "bool": lambda: True,
    "float": lambda: 1.5,
    "negative": lambda: -7,
    "zero": lambda: 0,
    "number": lambda: adjoint.tensor(2.0),
    "no elements": lambda: adjoint.zeros(0),
    "vector": lambda: adjoint.ones(3),
    "five dimensions": lambda: adjoint.ones(1, 1, 1, 1, 1),
    "integers": lambda: adjoint.ones(2, 3, dtype=adjoint.int64),
    "complex": lambda: adjoint.ones(2, 3, dtype=adjoint.complex64),
    "tensor and None": lambda: [adjoint.ones(2), None],
}
WORDS = re.compile(
    "|".join(
        (
            r"^(tuple|list|string) ind(ex|ices)|^'?\w*'?$|'[\w.]+' object (is|has|does|cannot)|^object of type",
            r"not supported between|^unsupported operand|^bad operand|to unpack|^cannot unpack|^can't multiply",
            r"^can only concatenate|by zero$|^unhashable|^zip\(\)|^(float|int|complex)\(\) argument|^invalid literal",
            r"^slice indices|^must be real|^local variable|arg is an empty|^cannot access local",
            r"empty (sequence|iterable)",
        )
    )
)


def is_raw(error):
    """Whether Python itself raised the error, inside the package."""
    if isinstance(error, MemoryError):
        return True
    if hasattr(error, "explained"):
        return False
    frames = list(traceback.walk_tb(error.__traceback__))
    frame, _ = frames[-1]
    if not frame.f_code.co_filename.startswith(PACKAGE):
        return False
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    raised = frame.f_code.co_code[trace.tb_lasti] == opcode.opmap["RAISE_VARARGS"]
    return not raised and WORDS.search(str(error)) is not None


def replaced(sample, place, kind):
    """The arguments of a sample with nonsense in one place: a position or a keyword."""
    args, kwargs, _ = sample.make(adjoint)
    if isinstance(place, int):
        args[place] = NONSENSE[kind]()
    else:
        kwargs[place] = NONSENSE[kind]()
    return args, kwargs


def raw_errors(name, limit=2):
    """(sample, place, nonsense, error) of each call of an op that ends in a raw error."""
    for sample in samples_by_name()[name][:limit]:
        for place in [*range(len(sample.args)), *sample.kwargs]:
            for kind in NONSENSE:
                args, kwargs = replaced(sample, place, kind)
                try:
                    find(adjoint, name)(*args, **kwargs)
                except Exception as error:  # whatever it is, it is judged
                    if is_raw(error):
                        yield sample, place, kind, error
