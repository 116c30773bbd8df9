"""Samples of recurrent networks as functions; tests/nn/test_rnn.py goes through their options."""

from . import I, Sample, T


def _network(gates, states, *options):
    """A layer of size 3 on 2 features, over 4 steps of a batch of 2."""
    weights = [T(3 * gates, 2), T(3 * gates, 3), T(3 * gates), T(3 * gates)]
    hx = T(1, 2, 3) if states == 1 else [T(1, 2, 3), T(1, 2, 3)]
    packed = Sample(T(6, 2), I(values=[2, 2, 1, 1]), hx, weights, True, 1, 0.0, False, False)
    whole = Sample(T(4, 2, 2), hx, weights, True, 1, 0.0, False, False, *options)
    # Torch reads sizes in a row as if they lay next to each other.
    return [packed.options(node=False, layouts=False), whole.options(node=False)]


def _cell(gates, states):
    hx = T(2, 3) if states == 1 else [T(2, 3), T(2, 3)]
    return [
        Sample(T(2, 2), hx, T(3 * gates, 2), T(3 * gates, 3), T(3 * gates), T(3 * gates)).options(node=False),
        Sample(T(2, 2), hx, T(3 * gates, 2), T(3 * gates, 3)).options(node=False),
    ]


SAMPLES = {
    "lstm": _network(4, 2, False),
    "gru": _network(3, 1, True),
    "rnn_tanh": _network(1, 1, False),
    "rnn_relu": _network(1, 1, True),
    "lstm_cell": _cell(4, 2),
    "gru_cell": _cell(3, 1),
    "rnn_tanh_cell": _cell(1, 1),
    "rnn_relu_cell": _cell(1, 1),
}
