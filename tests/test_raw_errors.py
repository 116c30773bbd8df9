"""No op answers an argument that makes no sense with an error of Python's own; see raw_errors.py."""

import pytest

import adjoint

from .raw_errors import raw_errors
from .test_op_table import samples_by_name


@pytest.mark.filterwarnings("ignore")  # of the calls, which mean nothing
@pytest.mark.parametrize("part", range(8))
def test_ops(part):
    found = [
        f"{name}({sample!r}) with {kind} for argument {place}: {type(error).__name__}: {error}"
        for name in sorted(samples_by_name())[part::8]
        for sample, place, kind, error in raw_errors(name)
    ]
    assert not found, "\n".join(found)


def test_the_error_names_the_call():
    with pytest.raises(
        TypeError, match=r"channel_shuffle\(\) received an invalid combination of arguments - got \(Tensor\[2, 6, 3\]"
    ):
        adjoint.channel_shuffle(adjoint.ones(2, 6, 3), None)
    with pytest.raises(TypeError, match="expected \\(input, groups\\)") as caught:
        adjoint.channel_shuffle(adjoint.ones(2, 6, 3), groups=None)
    assert "NoneType" in str(caught.value.__cause__)


def test_the_error_names_the_call_of_a_list_without_end():
    endless = [1]
    endless.append(endless)
    deep = 1.0
    for _ in range(5000):
        deep = [deep]
    for value in (endless, deep):
        with pytest.raises(TypeError, match=r"channel_shuffle\(\) received an .* - got \(Tensor.*, list of \("):
            adjoint.channel_shuffle(adjoint.ones(2, 6, 3), value)
