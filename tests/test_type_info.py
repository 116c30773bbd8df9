"""finfo and iinfo against torch's."""

import pytest
import torch

import adjoint

FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
NAMED = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


@pytest.mark.parametrize("name", [*FLOATS, *NAMED])
def test_finfo(name):
    ours, theirs = adjoint.finfo(getattr(adjoint, name)), torch.finfo(getattr(torch, name))
    for attribute in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name):
    ours, theirs = adjoint.iinfo(getattr(adjoint, name)), torch.iinfo(getattr(torch, name))
    for attribute in ("bits", "max", "min", "dtype"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert repr(ours) == repr(theirs)


def test_defaults_and_equality():
    assert adjoint.finfo() == adjoint.finfo(adjoint.float32) != adjoint.finfo(adjoint.float64)
    assert len({adjoint.iinfo(adjoint.int8), adjoint.iinfo(adjoint.int8)}) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.finfo(torch.int32),
        lambda torch: torch.iinfo(torch.float32),
        lambda torch: torch.iinfo(torch.bool),
        lambda torch: torch.finfo("float32"),
        lambda torch: torch.iinfo(),
    ],
)
def test_refusals(call):
    messages = []
    for library in (torch, adjoint):
        with pytest.raises(TypeError) as error:
            call(library)
        messages.append(str(error.value))
    assert "missing" in messages[1] or messages[0][:12] == messages[1][:12]
