"""The flags of torch.backends.cudnn: what they are at first, how the old and the new ones go together, and errors."""

import pytest

import adjoint as torch

cudnn = torch.backends.cudnn


def test_tf32_is_allowed_at_first_and_by_either_name():
    assert (cudnn.allow_tf32, cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == (True, "tf32", "tf32")
    with cudnn.flags(enabled=True, allow_tf32=False):
        assert (cudnn.allow_tf32, cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == (False, "none", "none")
        cudnn.conv.fp32_precision = cudnn.rnn.fp32_precision = "tf32"
        assert cudnn.allow_tf32
    assert cudnn.allow_tf32


def test_two_precisions_have_no_common_name():
    with cudnn.flags(enabled=True, allow_tf32=False):
        cudnn.conv.fp32_precision = "tf32"
        with pytest.raises(RuntimeError, match=r"one precision of all operations; conv\.fp32_precision is 'tf32'"):
            _ = cudnn.allow_tf32
        cudnn.conv.fp32_precision = "ieee"
        assert not cudnn.allow_tf32


def test_unknown_precisions_are_refused():
    with pytest.raises(RuntimeError, match="Unknown precision: bf17; it is one of none, ieee, tf32"):
        cudnn.conv.fp32_precision = "bf17"
    assert cudnn.conv.fp32_precision == "tf32"


def test_enabled_is_a_truth():
    with pytest.raises(RuntimeError, match="set_enabled_cudnn expects a bool, but got int"):
        cudnn.enabled = 0
    assert cudnn.enabled is True


def test_of_flags_that_are_set_together_one_that_is_wrong_leaves_the_others_as_they_were():
    before = cudnn.set_flags()
    with pytest.raises(RuntimeError, match="depthwise kernel mode: foo"):
        cudnn.set_flags(_enabled=False, _benchmark=True, _allow_tf32=False, _depthwise_kernel="foo")
    assert cudnn.set_flags() == before


def test_flags_of_two_precisions_hold_in_a_context():
    cudnn.rnn.fp32_precision = "ieee"
    try:
        with cudnn.flags(enabled=True, allow_tf32=False):
            assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == ("none", "none")
        assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == ("tf32", "ieee")
    finally:
        cudnn.rnn.fp32_precision = "tf32"
