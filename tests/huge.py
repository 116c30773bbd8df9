"""Calls with sizes, counts, dimensions and degrees far beyond what can be; run by test_robustness.py in a process of
its own.

    python -m tests.huge            # prints each call that failed without words, and their number

Every integer of the calls in huge_sizes.txt and in tests/samples is replaced by each of HUGE, every list of integers
also by lists of them. Any answer in time is right, and any exception that says what is wrong. The process may use
little memory, so that memory spent ahead of a check is seen; a call that hangs or crashes ends it, and the traceback
names the call.
"""

import ast
import faulthandler
import itertools
import pathlib
import resource
import sys
import warnings

import adjoint

from .samples import Sample, collect, find

HUGE = (2**31, 2**62, 2**63 - 1, -1, -(2**63), 2**62 - 1)
LINES = pathlib.Path(__file__).with_name("huge_sizes.txt").read_text().splitlines()
SECONDS = 10
MEMORY = 3 << 29
# What Python's own machinery says when a check is missing.
WORDLESS = ("tuple index out of range", "list index out of range", "Python int too large to convert", "vector::")


def is_int(node):
    return isinstance(node, ast.Constant) and type(node.value) is int


def lists_of_ints(tree):
    sequences = [node for node in ast.walk(tree) if isinstance(node, ast.Tuple | ast.List) and node.elts]
    return [node for node in sequences if all(map(is_int, node.elts))]


def written_calls():
    """The lines with other numbers."""
    for line in LINES:
        tree = ast.parse(line, mode="eval")
        for node in [node for node in ast.walk(tree) if is_int(node)]:
            kept = node.value
            for node.value in HUGE:
                yield ast.unparse(tree)
            node.value = kept
        for node in lists_of_ints(tree):
            kept = node.elts
            for number in HUGE:
                node.elts = [ast.Constant(number)] * len(kept)
                yield ast.unparse(tree)
            node.elts = [ast.Constant(1)] * 100
            yield ast.unparse(tree)
            node.elts = kept


def places(value, path=()):
    """The paths to the integers in the arguments of a sample."""
    if type(value) is int:
        yield path
    elif isinstance(value, dict | list | tuple):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def replaced(value, path, number):
    if not path:
        return number
    if isinstance(value, dict):
        return {**value, path[0]: replaced(value[path[0]], path[1:], number)}
    return type(value)(replaced(item, path[1:], number) if i == path[0] else item for i, item in enumerate(value))


def sampled_calls():
    """(name, sample, dtype): the samples of the op table with other numbers."""
    for name, samples in collect().items():
        for sample in samples:
            arguments = {"args": sample.args, "kwargs": sample.kwargs}
            for path, number in itertools.product(places(arguments), HUGE):
                call = replaced(arguments, path, number)
                yield name, Sample(*call["args"], **call["kwargs"]), sample.precise or sample.dtypes[0]


def run(call):
    if isinstance(call, str):
        return eval(call, {"torch": adjoint, "F": adjoint.nn.functional})
    name, sample, dtype = call
    args, kwargs, _ = sample.make(adjoint, dtype)
    return find(adjoint, name)(*args, **kwargs)


def complaint(call):
    """What is wrong with the outcome of a call, or None."""
    try:
        run(call)
    except (SystemError, OverflowError) as error:
        return repr(error)
    except Exception as error:
        text = str(error)
        return repr(error) if not text.strip() or text.startswith(WORDLESS) else None
    return None


def main():
    faulthandler.enable()
    warnings.simplefilter("ignore")
    adjoint.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    calls = [*written_calls(), *sampled_calls()]
    wrong = 0
    for call in calls:
        print(call, file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        reason = complaint(call)
        faulthandler.cancel_dump_traceback_later()
        if reason:
            wrong += 1
            print(f"{call}: {reason}")
    print(f"{len(calls)} calls, {wrong} wrong")


if __name__ == "__main__":
    main()
