"""No program crashes the interpreter, hangs or fails internally, whatever its arguments. See tests/fuzz/crash.

`python -m tests.fuzz.crash COUNT SEED` runs others, as many as wanted.
"""

import json
import os

import pytest

from .fuzz.crash import judge, workers
from .processes import python

# The sanitizers have no limit on addresses, but one on what is asked for at once.
ASAN_OPTIONS = os.environ.get("ASAN_OPTIONS", "") + ":max_allocation_size_mb=1024"


def test_programs_that_make_no_sense():
    options = "-m", "tests.fuzz.crash", 4000, 0
    assert "4000 programs" in python(*options, timeout=600, environment={"ASAN_OPTIONS": ASAN_OPTIONS}).stdout


def found(*lines, seconds=10.0):
    """What a few lines are found to do."""
    accidents, ending = workers.run_lines(lines, workers.Limits(seconds=seconds))
    return ending.problem or [reason for reason, _, _ in accidents]


def test_what_is_no_answer_is_found():
    assert found("__import__('os').abort()") == "crash (SIGABRT)"
    assert found("while True: pass", seconds=0.2) == "hang"
    assert found("raise SystemError('x')") == ["SystemError"]
    assert found("raise ValueError") == ["an exception without words"]
    assert found("raise RuntimeError('std::bad_alloc')") == ["internal words"]
    assert found("x = torch.ones(2)", "x.sum(5)", "x.nothing", "1 // 0", "raise ValueError('no')") == []


def test_accidents_inside_the_package_are_told_from_answers():
    code = compile(
        "def f(x):\n    return {}[x]\ndef g(x):\n    raise KeyError(x)\ndef h():\n    [0] * 2**62",
        f"{judge.PACKAGE}/made_up.py",
        "exec",
    )
    space = {}
    exec(code, space)
    with pytest.raises(KeyError) as caught:
        space["f"](1)
    assert judge.accident(caught.value) == "raised by the interpreter"
    assert judge.place(caught.value) == "/made_up.py:2"
    with pytest.raises(KeyError) as caught:
        space["g"](1)
    assert judge.accident(caught.value) is None
    with pytest.raises(MemoryError) as caught:
        space["h"]()
    assert judge.accident(caught.value, "h()") == "an exception without words"


def test_words_of_the_interpreter_that_go_on_are_an_answer():
    assert judge.INTERPRETER.search("'NoneType' object is not iterable")
    assert judge.INTERPRETER.search("not enough values to unpack (expected 2, got 1)")
    assert not judge.INTERPRETER.search("'NoneType' object is not iterable: torch.Size() takes an iterable of 'int'")


def test_a_failure_is_made_small():
    lines = ["x = 1", "y = torch.ones(2)", "z = x + 1", "raise SystemError(z)"]
    assert workers.shortened(lines, lambda lines: found(*lines) == ["SystemError"]) == [lines[0], *lines[2:]]


def test_the_same_number_gives_the_same_program():
    shared, limits = workers.Shared(), workers.Limits()
    texts = []
    for _ in range(2):
        workers.run_programs(7, 3, 4, shared, limits)
        texts.append(shared.lines)
    assert texts[0] == texts[1]
    assert texts[0]


def run_wrong_operands(library):
    """What the calls of wrong_operands.py came to, by their labels."""
    return json.loads(python("-m", "tests.wrong_operands", library).stdout)


def test_wrong_operands_are_refused_before_anything_is_recorded():
    ours, theirs = run_wrong_operands("adjoint"), run_wrong_operands("torch")
    assert ours.pop("others") > 10_000
    assert len(ours) > 100_000
    assert {how for how in ours.values() if how != "value"} <= {"TypeError", "RuntimeError", "IndexError"}
    assert {label: ours[label] for label in theirs} == theirs
