"""Calls outside of the op table that Python itself would refuse, in words that say what was expected."""

import pytest

import adjoint
from adjoint import nn, optim

init, prune, rnn = nn.init, nn.utils.prune, nn.utils.rnn


def packed():
    return rnn.pack_padded_sequence(adjoint.rand(4, 2, 3), [4, 2])


REFUSED = {
    "pairs": (lambda: prune.global_unstructured([1], prune.L1Unstructured), TypeError, "expected pairs"),
    "states of a LSTM": (lambda: nn.LSTM(3, 2)(packed(), [1.5]), IndexError, "expects hx to be the tensors"),
    "bytes on meta": (lambda: adjoint.ones(2, device="meta").untyped_storage()[0], NotImplementedError, "no values"),
    "numbers on meta": (
        lambda: adjoint.ones(2, device="meta")._typed_storage()._getitem(0),
        NotImplementedError,
        "no values",
    ),
    "lengths": (lambda: rnn.pack_padded_sequence(adjoint.ones(2, 1), None), TypeError, "lengths to be integers"),
    "a length": (lambda: rnn.pack_padded_sequence(adjoint.ones(2, 1), [None]), TypeError, "lengths to be integers"),
    "backward": (lambda: adjoint.autograd.backward(None), TypeError, "expected a Tensor, or a sequence of Tensors"),
    "betas": (lambda: optim.RAdam([adjoint.ones(2)], betas=()), ValueError, "expected two decay rates"),
    "parameters": (lambda: optim.LBFGS(None), TypeError, "an iterable of Tensors, but got None"),
    "name": (lambda: nn.utils.spectral_norm(nn.Linear(2, 2), 3), ValueError, "parameter `3` is None"),
    "vector": (lambda: nn.utils.vector_to_parameters(adjoint.ones(2), None), TypeError, "an iterable of Tensors"),
    "norms": (lambda: nn.utils.get_total_norm(None), TypeError, "an iterable of Tensors; got None"),
    "svd_lowrank": (lambda: adjoint.svd_lowrank(adjoint.ones(3)), IndexError, "expects a matrix"),
    "pca_lowrank": (lambda: adjoint.pca_lowrank(adjoint.ones(3)), IndexError, "expects a matrix"),
    "autocast": (lambda: adjoint.autocast("cpu").__exit__(None, None, None), RuntimeError, "without __enter__"),
    "deviation": (lambda: init.trunc_normal_(adjoint.ones(2), 1, 0), ZeroDivisionError, "a positive std; got 0"),
    "sequences": (lambda: nn.utils.rnn.pack_sequence(None), TypeError, "a list of tensors; got NoneType"),
    "weights": (
        lambda: adjoint.gru(
            adjoint.ones(6, 2, 2), adjoint.ones(1, 2, 3), [adjoint.ones(3, 2)], True, 1, 0.0, False, False, False
        ),
        RuntimeError,
        "expected 4 weights and biases",
    ),
    "fans": (lambda: init.xavier_uniform_(adjoint.ones(0, 0)), ZeroDivisionError, "has no fans"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


def test_numbers_taken_out_of_a_group():
    parameter = adjoint.ones(2)
    optimizer = optim.NAdam([parameter])
    parameter.grad = adjoint.ones(2)
    optimizer.param_groups[0]["betas"] = []
    with pytest.raises(ValueError, match="expected 'betas' of the parameter group to have more than 0 numbers"):
        optimizer.step()
