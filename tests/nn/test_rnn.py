"""Recurrent networks against torch's: every kind, option and form of input; packed sequences; second gradients."""

import pytest
import torch

import adjoint
from tests.compare import same

from .compare import assert_same, build, check, check_signature, check_trajectory, floats, loss_of, tensors

KINDS = ("RNN", "GRU", "LSTM")
CELLS = ("RNNCell", "GRUCell", "LSTMCell")


def state_for(kind, *shape):
    """A hidden state, or two for an LSTM."""
    return (floats(*shape, seed=3), floats(*shape, seed=4)) if "LSTM" in kind else floats(*shape, seed=3)


@pytest.mark.parametrize("name", [*CELLS, "RNNBase", "RNNCellBase"])
def test_signatures(name):
    check_signature(name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("batch_first", [False, True])
def test_networks(kind, bidirectional, num_layers, batch_first):
    def make(L):
        options = {"bidirectional": bidirectional, "batch_first": batch_first, "bias": not batch_first}
        return getattr(L.nn, kind)(3, 4, num_layers, **options)

    check(make, floats(2, 5, 3))
    batch = 2 if batch_first else 5
    check(make, floats(2, 5, 3), state_for(kind, num_layers * (1 + bidirectional), batch, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_one_sequence_without_a_batch(kind):
    check(lambda L: getattr(L.nn, kind)(3, 4, 2), floats(5, 3))
    check(lambda L: getattr(L.nn, kind)(3, 4, 2, batch_first=True), floats(5, 3), state_for(kind, 2, 4))


def test_relu_network():
    check(lambda L: L.nn.RNN(3, 4, 2, "relu"), floats(5, 2, 3))


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")  # torch's
@pytest.mark.parametrize("bidirectional", [False, True])
def test_projections(bidirectional):
    check(lambda L: L.nn.LSTM(3, 4, 2, proj_size=2, bidirectional=bidirectional), floats(5, 2, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_between_layers_draws_the_same_numbers(kind):
    check(lambda L: getattr(L.nn, kind)(3, 4, 3, dropout=0.4), floats(5, 2, 3))
    check(lambda L: getattr(L.nn, kind)(3, 4, 3, dropout=0.4), floats(5, 2, 3), training=False)


@pytest.mark.parametrize("kind", CELLS)
def test_cells(kind):
    for bias in (True, False):
        check(lambda L, bias=bias: getattr(L.nn, kind)(3, 4, bias), floats(2, 3))
    check(lambda L: getattr(L.nn, kind)(3, 4), floats(2, 3), state_for(kind, 2, 4))
    check(lambda L: getattr(L.nn, kind)(3, 4), floats(3), state_for(kind, 4))
    check(lambda L: L.nn.RNNCell(3, 4, nonlinearity="relu"), floats(2, 3))


@pytest.mark.parametrize("kind", [*KINDS, *CELLS])
def test_trajectories(kind):
    shape = (2, 3) if "Cell" in kind else (6, 2, 3)
    check_trajectory(lambda L: getattr(L.nn, kind)(3, 8), floats(*shape))


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_input_weights(kind):
    """The hidden weights alone are trained: the gates themselves need no gradient."""
    ours, theirs = build(lambda L: getattr(L.nn, kind)(3, 4), "float64")
    for library, module in ((adjoint, ours), (torch, theirs)):
        for name, parameter in module.named_parameters():
            parameter.requires_grad_("weight_hh" in name)
        loss_of(module(*tensors(library, [floats(5, 2, 3)], "float64", requires_grad=False))).backward()
    assert_same(ours.weight_hh_l0.grad, theirs.weight_hh_l0.grad, "float64")
    assert ours.weight_ih_l0.grad is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("needs", [(True, True), (False, True), (True, False)])
def test_gradients_against_finite_differences(kind, needs):
    ours, _ = build(lambda L: getattr(L.nn, kind)(2, 3), "float64")
    x = adjoint.from_numpy(floats(4, 2, 2)).requires_grad_(needs[0])
    first = [adjoint.from_numpy(floats(1, 2, 3, seed=i)).requires_grad_(needs[1]) for i in range(2)]

    def run(x, *first):
        output, last = ours(x, first if kind == "LSTM" else first[0])
        return (output, *last) if kind == "LSTM" else (output, last)

    first = first if kind == "LSTM" else first[:1]
    assert adjoint.autograd.gradcheck(run, (x, *first))
    assert adjoint.autograd.gradgradcheck(run, (x, *first))


def test_second_gradients_of_lstm_weights():
    seen = []
    for library, module in zip((adjoint, torch), build(lambda L: L.nn.LSTM(3, 4, 2), "float64"), strict=True):
        (x,) = tensors(library, [floats(5, 2, 3)], "float64")
        weights = list(module.parameters())
        first = library.autograd.grad(loss_of(module(x)), [x, *weights], create_graph=True)
        seen.append(library.autograd.grad(sum((g * g).sum() for g in first), [x, *weights]))
    assert_same(list(seen[0]), list(seen[1]), "float64")


# ---- Packed sequences

LENGTHS = ([5, 3, 3, 1], [2, 2, 2], [1], [4, 4, 1])


def sequences(library, lengths, dtype="float64"):
    return tensors(library, [floats(n, 3, seed=n) for n in lengths], dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packed(kind, bidirectional, lengths):
    seen = []
    modules = build(lambda L: getattr(L.nn, kind)(3, 4, 2, bidirectional=bidirectional), "float64")
    for library, module in zip((adjoint, torch), modules, strict=True):
        for order in (lengths, lengths[::-1]):
            items = sequences(library, order)
            packed = library.nn.utils.rnn.pack_sequence(items, enforce_sorted=False)
            output, last = module(packed)
            padded, counts = library.nn.utils.rnn.pad_packed_sequence(output, batch_first=True, padding_value=-1)
            module.zero_grad()
            (loss_of(output.data) + loss_of(last)).backward()
            grads = [p.grad for p in module.parameters()] + [item.grad for item in items]
            seen.append((list(output), padded, counts, last, grads))
    assert_same(seen[0], seen[2], "float64")
    assert_same(seen[1], seen[3], "float64")


def test_packed_with_a_first_state_and_dropout():
    seen = []
    for library, module in zip((adjoint, torch), build(lambda L: L.nn.LSTM(3, 4, 2, dropout=0.5)), strict=True):
        items = sequences(library, [2, 5, 3], "float32")
        packed = library.nn.utils.rnn.pack_sequence(items, enforce_sorted=False)
        library.manual_seed(5)
        seen.append(module(packed, tensors(library, [floats(2, 3, 4), floats(2, 3, 4, seed=9)])))
    assert_same(*([list(output), list(last)] for output, last in seen))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packing_and_padding(batch_first, lengths):
    seen = []
    for library in (adjoint, torch):
        rnn = library.nn.utils.rnn
        items = sequences(library, lengths)
        left = rnn.pad_sequence(items, batch_first, 0.5, "left")
        padded = rnn.pad_sequence(items, batch_first, 7.0)
        packed = rnn.pack_padded_sequence(padded, library.tensor(lengths), batch_first)
        longer, counts = rnn.pad_packed_sequence(packed, batch_first, -2.0, total_length=6)
        loss_of([left, packed.data, longer]).backward()
        back = rnn.unpad_sequence(padded.clone(), counts, batch_first)  # torch transposes it in place
        again = rnn.unpack_sequence(packed)
        seen.append([left, padded, list(packed[:2]), longer, counts, back, again, [item.grad for item in items]])
    assert_same(*seen, "float64")


PACKED = {
    "no batch": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 0, 2), []),
    "no batch, a length": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 0, 2), [1]),
    "no batch, unsorted": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 0, 2), [], enforce_sorted=False),
    "no batch, batch first": lambda L, rnn: rnn.pack_padded_sequence(L.ones(0, 3, 2), [], batch_first=True),
    "no steps": lambda L, rnn: rnn.pack_padded_sequence(L.ones(0, 2, 2), [1, 1]),
    "no steps, no lengths": lambda L, rnn: rnn.pack_padded_sequence(L.ones(0, 2, 2), [0, 0]),
    "no features": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 2, 0), [3, 2]),
    "no lengths": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 2, 2), []),
    "a length of 0": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 2, 2), [3, 0]),
    "lengths in rows": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 2, 2), L.tensor([[3, 2]])),
    "a number": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3, 2, 2), 3),
    "one dimension": lambda L, rnn: rnn.pack_padded_sequence(L.ones(3), [3]),
    "an empty sequence": lambda L, rnn: rnn.pack_sequence([L.ones(0, 2)]),
    "no batch sizes": lambda L, rnn: rnn.pad_packed_sequence(_packed(L, 0, [])),
    "no batch sizes, unpacked": lambda L, rnn: rnn.unpack_sequence(_packed(L, 0, [])),
    "too few steps": lambda L, rnn: rnn.pad_packed_sequence(_packed(L, 2, [2, 2])),
    "more steps": lambda L, rnn: rnn.pad_packed_sequence(_packed(L, 5, [2, 1])),
    "batch sizes of 0": lambda L, rnn: rnn.pad_packed_sequence(_packed(L, 0, [0, 0])),
    "batch sizes in rows": lambda L, rnn: rnn.pad_packed_sequence(_packed(L, 3, [[2, 1]])),
    "batch sizes of int32": lambda L, rnn: rnn.pad_packed_sequence(_packed(L, 3, [2, 1], L.int32)),
}


def _packed(L, steps, batch_sizes, dtype=None):
    sizes = L.tensor(batch_sizes, dtype=dtype or L.int64)
    return L.nn.utils.rnn.PackedSequence(L.arange(2.0 * steps).view(steps, 2), sizes)


@pytest.mark.parametrize("name", PACKED)
def test_packing_of_little_and_of_nothing(name):
    same(lambda L: PACKED[name](L, L.nn.utils.rnn))


def test_batch_sizes_that_cannot_be():
    for sizes in ([1, 2], [2, -1], [-1]):  # PyTorch writes where it must not
        with pytest.raises(RuntimeError, match="expected batch sizes from 0 up that do not grow"):
            adjoint.nn.utils.rnn.pad_packed_sequence(_packed(adjoint, 3, sizes))


def test_packed_sequence_is_a_tuple_that_casts():
    for library in (adjoint, torch):
        packed = library.nn.utils.rnn.pack_sequence([library.ones(2), library.ones(1)])
        assert packed.double().data.dtype == library.float64
        assert packed.to(packed.data.dtype) is packed
        assert isinstance(packed, tuple)
        assert packed.sorted_indices is None


# ---- Errors and attributes


def attempts(L):
    """Calls that torch refuses, by name."""
    nn, rnn, x = L.nn, L.nn.utils.rnn, L.zeros(5, 2, 3)
    lstm, gru, cell = nn.LSTM(3, 4), nn.GRU(3, 4), nn.LSTMCell(3, 4)
    return {
        "hidden size 0": lambda: nn.LSTM(3, 0),
        "hidden size float": lambda: nn.LSTM(3, 2.0),
        "no layers": lambda: nn.LSTM(3, 4, 0),
        "dropout 2": lambda: nn.LSTM(3, 4, dropout=2),
        "dropout of one layer warns": lambda: repr(nn.LSTM(3, 4, dropout=0.5)),
        "projection too large": lambda: nn.LSTM(3, 4, proj_size=5),
        "projection negative": lambda: nn.LSTM(3, 4, proj_size=-1),
        "gru projection": lambda: nn.GRU(3, 4, proj_size=2),
        "nonlinearity": lambda: nn.RNN(3, 4, nonlinearity="x"),
        "bias": lambda: nn.LSTM(3, 4, 2, "a"),
        "features": lambda: lstm(L.zeros(5, 2, 2)),
        "four dimensions": lambda: lstm(L.zeros(5, 2, 3, 1)),
        "one dimension": lambda: gru(L.zeros(5)),
        "hidden shape": lambda: lstm(x, (L.zeros(1, 2, 3), L.zeros(1, 2, 4))),
        "cell shape": lambda: lstm(x, (L.zeros(1, 2, 4), L.zeros(1, 3, 4))),
        "gru hidden": lambda: gru(x, L.zeros(1, 3, 4)),
        "gru hidden 2d": lambda: gru(x, L.zeros(2, 4)),
        "unbatched with 3d": lambda: lstm(x[:, 0], (L.zeros(1, 2, 4), L.zeros(1, 3, 4))),
        "unbatched gru": lambda: gru(x[:, 0], L.zeros(1, 2, 4)),
        "type": lambda: lstm(x.double()),
        "no steps": lambda: gru(L.zeros(0, 2, 3)),
        "no batch": lambda: lstm(L.zeros(3, 0, 3))[0].shape,
        "cell 3d": lambda: cell(x),
        "cell hidden": lambda: cell(x[0], (L.zeros(2, 3), L.zeros(2, 4))),
        "cell features": lambda: cell(x[0, :, :2]),
        "cell without states": lambda: cell(x[0], ()),
        "cell of one state": lambda: cell(x[0], [L.zeros(2, 4)]),
        "states by number": lambda: lstm(x, 5),
        "cell batch": lambda: cell(x[0], (L.zeros(3, 4), L.zeros(2, 4))),
        "gru cell hidden": lambda: nn.GRUCell(3, 4)(x[0], L.zeros(1, 2, 4)),
        "cell nonlinearity": lambda: nn.RNNCell(3, 4, nonlinearity="q")(x[0]),
        "unsorted": lambda: rnn.pack_padded_sequence(x, [3, 5]),
        "empty length": lambda: rnn.pack_padded_sequence(x, [5, 0]),
        "few lengths": lambda: rnn.pack_padded_sequence(x, [5]),
        "total length": lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [5, 3]), total_length=3),
        "no sequences": lambda: rnn.pad_sequence([]),
        "not sequences": lambda: rnn.pad_sequence(3),
        "side": lambda: rnn.pad_sequence([x], padding_side="x"),
        "packed of one": lambda: rnn.PackedSequence(x),
        "reprs": lambda: [repr(cell), repr(nn.RNNCell(3, 4, False, "relu")), repr(nn.GRU(3, 4, 2, False, True))],
        "names": lambda: nn.LSTM(3, 4, 2, bidirectional=True)._flat_weights_names,
    }


@pytest.mark.parametrize("name", attempts(torch))
def test_refusals(name):
    same(lambda L: attempts(L)[name]())


def test_states_by_name():
    with pytest.raises(TypeError, match=r"'dict' object is not subscriptable: LSTM expects hx to be the tensors"):
        adjoint.nn.LSTM(3, 4)(adjoint.zeros(5, 2, 3), {})


@pytest.mark.parametrize("kind", ["gru", "lstm", "rnn_tanh"])
def test_sequences_and_first_states_that_do_not_fit(kind):
    gates = {"gru": 3, "lstm": 4, "rnn_tanh": 1}[kind]
    x, options = adjoint.ones(4, 2, 3), (False, 1, 0.0, False, False)
    weights = [adjoint.zeros(gates * 5, 3), adjoint.zeros(gates * 5, 5)]

    def run(x, *shape, batch_sizes=None):
        state = adjoint.zeros(*shape)
        states = (adjoint.zeros(1, 2, 5), state) if kind == "lstm" else state
        if batch_sizes is not None:
            return getattr(adjoint, kind)(x, adjoint.tensor(batch_sizes), states, weights, *options)
        return getattr(adjoint, kind)(x, states, weights, *options, False)

    assert run(x, 1, 2, 5)[0].shape == (4, 2, 5)
    for shape in [(0, 2, 5), (2, 2, 5), (1, 3, 5), (1, 1, 5), (2, 5)]:
        with pytest.raises(RuntimeError, match=r"expected first states of 1 layers .* \[1, 2, size\]; got \["):
            run(x, *shape)
    with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
        run(x[:0], 1, 2, 5)
    for batch_sizes in [1, 3], [2, 1], []:
        with pytest.raises(RuntimeError, match="batch sizes that never grow and add up"):
            run(x[:, 0], 1, 2, 5, batch_sizes=batch_sizes)
