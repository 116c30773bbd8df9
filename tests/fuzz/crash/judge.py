"""Whether an exception is an answer, or an accident: something internal that was never meant to be read."""

import dis
import re
from pathlib import Path

import adjoint

PACKAGE = str(Path(adjoint.__file__).parent)

# Never an answer, wherever it comes from.
INTERNAL = re.compile(
    r"returned NULL without setting|returned a result with an exception|bad_alloc|std::(?!numeric_limits)|basic_string"
    r"|vector::|map::at|bad argument to internal function"
)
# What the interpreter says by itself, and nothing behind it: an accident where it comes out of the package.
INTERPRETER = re.compile(
    r"((tuple|list) index out of range|pop from empty|'NoneType' object (?!is not callable)|cannot unpack"
    r"|values to unpack|referenced before assignment|division by zero)[^:;]*$"
)
# What is raised on purpose in these words, what comes from the fuzz's own objects, and what torch says, too, to an
# object that is no tensor or module where it expects one: that says what came and what was looked for.
MEANT = re.compile(
    r"^Torch not compiled with|Odd|^('[\w.]+' object|type object '[\w.]+') has no attribute '\w+'$"
    r"|received an invalid combination of arguments|^torch.linalg.lu_factor: "
)
# An object that says it is as long as that has list() ask for the memory, which says no more.
HUGE_LENGTH = re.compile(r"__len__.*2\*\*62")
# Accidents that say what is wrong, if not whose fault it is.
MILD = ("raised by the interpreter", "the interpreter's words")
ACCIDENTS = (KeyError, AttributeError, NameError, ZeroDivisionError, AssertionError)


def raised_at(error):
    """(code, instruction) where the exception was raised."""
    step = error.__traceback__
    while step.tb_next is not None:
        step = step.tb_next
    code = step.tb_frame.f_code
    return code, dis.opname[code.co_code[step.tb_lasti]]


def accident(error, line=""):
    """Why an exception is no answer, or None."""
    message = str(error)
    if isinstance(error, SystemError):
        return "SystemError"
    if not message and not isinstance(error, StopIteration | MemoryError):
        return "an exception without words"
    if isinstance(error, MemoryError) and not message and place(error) and not HUGE_LENGTH.search(line):
        return "an exception without words"
    if INTERNAL.search(message):
        return "internal words"
    code, instruction = raised_at(error)
    if instruction in ("RAISE_VARARGS", "RERAISE") or MEANT.search(message):
        return None
    inside = code.co_filename.startswith(PACKAGE)
    if isinstance(error, ACCIDENTS) and inside:
        return "raised by the interpreter"
    if INTERPRETER.search(message) and (inside or "CALL" in instruction):
        return "the interpreter's words"
    return None


def place(error):
    """File and line in the package where the exception came from, for telling accidents apart."""
    found, step = "", error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name.startswith(PACKAGE):
            found = f"{name.removeprefix(PACKAGE)}:{step.tb_lineno}"
        step = step.tb_next
    return found
