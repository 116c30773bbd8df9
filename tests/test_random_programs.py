"""Random programs agree with torch, the same ones in every run. See programs.py.

A failure prints the program and its seed; `python -m tests.programs 1 SEED` repeats it and makes it small, and
`python -m tests.programs COUNT SEED` runs others.
"""

import pytest

from . import programs


@pytest.mark.parametrize("first", range(0, 1750, 250))
def test_known_programs(first):
    run_all(range(first, first + 250))


def run_all(seeds):
    for seed in seeds:
        text = programs.problem(programs.random_steps(seed))
        assert text is None, f"python -m tests.programs 1 {seed}\n{text}"


def test_programs_are_printed_with_their_seed(monkeypatch):
    monkeypatch.setattr(programs, "problem", lambda steps: "differs")
    with pytest.raises(AssertionError, match=r"python -m tests\.programs 1 77\n\s*differs"):
        run_all([77])


@pytest.mark.filterwarnings("ignore")  # the program that differs on purpose warns in torch
def test_a_difference_is_printed_as_a_program():
    lines = ["t0 = torch.tensor([1.0], requires_grad=True)", "t1 = Cube.apply(t0) * 2"]
    writer = programs.Writer()
    for line in programs.PRELUDE + lines:
        exec(line, writer.space)
    writer.names = ["t0", "t1"]
    writer.space["t1"] = writer.space["t0"] * 3
    with pytest.raises(AssertionError) as caught:
        programs.replay(programs.PRELUDE + lines, writer, [None, None])
    text = str(caught.value)
    assert text.startswith("t1.value")
    assert "class Cube" in text
    assert "class Both" not in text
    assert text.endswith("\n".join(lines))
    exec(text.split("\n\n")[1], {})
