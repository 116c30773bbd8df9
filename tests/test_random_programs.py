"""Random programs agree with torch: fresh ones, by hypothesis, within a bounded time. See programs.py."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from . import programs

numbers = st.integers(0, 23)
steps = st.tuples(
    st.integers(0, len(programs.STEPS) - 1),
    numbers,
    numbers,
    numbers,
    numbers,
    st.integers(0, len(programs.WRAPPERS) - 1),
)
# Every program begins with a leaf that requires grad.
first = st.tuples(st.just(0), numbers, numbers, numbers, st.just(1), st.just(0))


@settings(max_examples=2000, deadline=None, print_blob=False, database=None, suppress_health_check=list(HealthCheck))
@given(first, st.lists(steps, min_size=4, max_size=14))
def test_hypothesis_finds_no_difference(beginning, rest):
    programs.check([beginning, *rest])


@pytest.mark.parametrize("seed", range(0, 2000, 250))
def test_known_seeds(seed):
    for number in range(seed, seed + 250):
        programs.check(programs.random_steps(number))


@pytest.mark.filterwarnings("ignore")
def test_a_difference_is_printed_as_a_program():
    lines = ["seen = []", "t0 = torch.tensor([1.0], requires_grad=True)", "t1 = t0 * 2"]
    writer = programs.Writer()
    for line in lines:
        exec(line, writer.space)
    writer.names = ["t0", "t1"]
    writer.space["t1"] = writer.space["t0"] * 3
    with pytest.raises(AssertionError) as caught:
        programs.replay(lines, writer, [None, None])
    text = str(caught.value)
    assert text.startswith("t1.value")
    assert text.endswith("\n".join(["import adjoint as torch", *lines]))
    exec(text.split("\n\n")[1], {})
