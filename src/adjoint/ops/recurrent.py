"""Recurrent networks: the arithmetic of their cells, and a whole sequence through all layers.

A layer multiplies all of its input by the input's weights at once; what remains for each step is one product with
the hidden state and one or two elementwise ops on the gates.
"""

from .. import _C
from .batching import call, with_batch
from .language import (
    _lstm_sequence,
    _lstm_sequence_gradients,
    _recurrent_network,
    _recurrent_network_gradients,
    addmm,
    cat,
    composite,
    dropout,
    elementwise,
    full,
    gru_output,
    is_grad_enabled,
    linear,
    lstm_state,
    op,
    relu,
    sigmoid,
    sigmoid_mul,
    stack,
    tanh,
    zeros_like,
)

_INTERNAL = {"public": False, "inplace": False, "out": False, "numbers": ""}

elementwise("lstm_state(i, f, new, c)", lambda i, f, new, c: sigmoid(f) * c + sigmoid(i) * tanh(new), **_INTERNAL)
elementwise("sigmoid_mul(gate, value)", lambda gate, value: sigmoid(gate) * value, linear="value", **_INTERNAL)


def _gru_output(in_r, in_z, in_n, hidden_r, hidden_z, hidden_n, hidden):
    new = tanh(in_n + sigmoid(in_r + hidden_r) * hidden_n)
    return new + sigmoid(in_z + hidden_z) * (hidden - new)


elementwise("gru_output(in_r, in_z, in_n, hidden_r, hidden_z, hidden_n, hidden)", _gru_output, **_INTERNAL)


# ---- Batch rules; see batching.py


def _in_steps(value):
    """[batch, step, sequence, ...] -> [step, batch sequence, ...]; [batch, sequence, ...] -> [batch sequence, ...]"""
    return value.transpose(0, 1).flatten(1, 2) if value.dim() == 4 else value.flatten(0, 1)


def _sequence_batch(op, size, batched, *given):
    """The batch goes into that of the sequences, if they have one weight, which comes last. If not, each weight has its
    own sequences, and the kernel walks over these."""
    *sequences, weight = with_batch(size, batched, given)
    if batched[-1]:
        results = [call(op, *parts) for parts in zip(*sequences, weight, strict=True)]
        return tuple(stack(parts) for parts in zip(*results, strict=True))
    count = sequences[-1].shape[1]
    results = call(op, *map(_in_steps, sequences), given[-1])
    return tuple(one.unflatten(one.dim() - 2, (size, count)).movedim(-3, 0) for one in results)


# ---- The whole sequence


def _slopes(gates, hidden, cell, weight, output, cells):
    """For all steps: the hidden state before, gate f, the slopes of the cell state by the sums of i, f and g and of the
    output by that of o, and the slope of the output by the cell state."""
    before, cell_before = cat([hidden.unsqueeze(0), output[:-1]]), cat([cell.unsqueeze(0), cells[:-1]])
    i, f, new, o = (gates + before @ weight.t()).chunk(4, -1)
    i, f, new, o, active = sigmoid(i), sigmoid(f), tanh(new), sigmoid(o), tanh(cells)
    of_sums = cat([new * i * (1 - i), cell_before * f * (1 - f), i * (1 - new * new), active * o * (1 - o)], -1)
    return before, f, of_sums, o * (1 - active * active)


def _tangents(gates, hidden, cell, weight, output, cells, gates_t, hidden_t, cell_t, weight_t):
    """The tangents of output and cells."""
    before, f, of_sums, of_cells = _slopes(gates, hidden, cell, weight, output, cells)
    states = []
    for sums, forget, slope, of_cell in zip(gates_t + before @ weight_t.t(), f, of_sums, of_cells, strict=True):
        i, f, new, o = (slope * (sums + hidden_t @ weight.t())).chunk(4, -1)
        cell_t = forget * cell_t + i + f + new
        hidden_t = o + of_cell * cell_t
        states.append((hidden_t, cell_t))
    return tuple(stack(parts) for parts in zip(*states, strict=True))


# A sequence of equal batches, in one pass: what comes from the gates' rule is for all arguments, the others have their
# own for when the gates need no gradient.
op("_lstm_sequence(gates, hidden, cell, weight)", native="lstm_sequence", outputs=("output", "cells", "activated"),
   public=False,
   fused={
       "gates": lambda g_output, g_cells, hidden, cell, weight, output, cells, activated:
           _sequence_gradients(g_output, g_cells, hidden, cell, weight, output, cells, activated),
       "hidden": lambda g_output, g_cells, hidden, cell, weight, output, cells, activated:
           _sequence_gradients(g_output, g_cells, hidden, cell, weight, output, cells, activated)[1:],
       "cell": lambda g_output, g_cells, hidden, cell, weight, output, cells, activated:
           _sequence_gradients(g_output, g_cells, hidden, cell, weight, output, cells, activated)[2:],
       "weight": lambda g_output, g_cells, hidden, cell, weight, output, cells, activated:
           _sequence_gradients(g_output, g_cells, hidden, cell, weight, output, cells, activated)[3],
   },
   gates=lambda g_output, g_cells, gates, hidden, cell, weight, output, cells:
       _gradients_by_steps(g_output, g_cells, gates, hidden, cell, weight, output, cells),
   hidden=lambda g_output, g_cells, gates, hidden, cell, weight, output, cells:
       _gradients_by_steps(g_output, g_cells, gates, hidden, cell, weight, output, cells)[1:],
   cell=lambda g_output, g_cells, gates, hidden, cell, weight, output, cells:
       _gradients_by_steps(g_output, g_cells, gates, hidden, cell, weight, output, cells)[2:],
   weight=lambda g_output, g_cells, gates, hidden, cell, weight, output, cells:
       _gradients_by_steps(g_output, g_cells, gates, hidden, cell, weight, output, cells)[3],
   jvp=_tangents,
   batch=_sequence_batch)  # fmt: skip
op("_lstm_sequence_gradients(output_grad, cells_grad, cells, activated, cell, weight)",
   native="lstm_sequence_gradients", gradient=False, public=False,
   batch=_sequence_batch)  # fmt: skip


def _sequence_gradients(g_output, g_cells, hidden, cell, weight, output, cells, activated):
    """The gradients of gates, hidden, cell and weight."""
    g, g_hidden, g_cell = _lstm_sequence_gradients(g_output, g_cells, cells, activated, cell, weight)
    later = g[1:].flatten(0, 1).t() @ output[:-1].flatten(0, 1)
    return g, g_hidden, g_cell, later + g[0].t() @ hidden


def _gradients_by_steps(g_output, g_cells, gates, hidden, cell, weight, output, cells):
    """The same in ops that have derivatives."""
    before, f, of_sums, of_cells = _slopes(gates, hidden, cell, weight, output, cells)
    g_hidden, g_cell, sums = zeros_like(hidden), zeros_like(cell), []
    for step in reversed(range(gates.shape[0])):
        g_hidden = g_output[step] + g_hidden
        g_cell = g_cells[step] + g_cell + g_hidden * of_cells[step]
        sums.append(of_sums[step] * cat([g_cell, g_cell, g_cell, g_hidden], -1))
        g_hidden, g_cell = sums[-1] @ weight, g_cell * f[step]
    g = stack(sums[::-1])
    return g, g_hidden, g_cell, g.flatten(0, 1).t() @ before.flatten(0, 1)


class _Cell:
    """A layer in one direction: its weights for the hidden state, and what becomes of the state in a step."""

    def __init__(self, weight, bias, projection=None):
        self.weight, self.bias, self.projection = weight.t(), bias, projection

    @staticmethod
    def inputs(input, weight, bias, hidden_bias):
        """The input's part of the gates' sums, for all steps; with both biases, where they are simply added."""
        return linear(input, weight, None if bias is None else bias + hidden_bias)

    def layer(self, gates, first, batch_sizes, reverse):
        """(hidden states, last state) from the input's part of the gates and the first state."""
        steps = gates.unbind(0) if batch_sizes is None else gates.split(batch_sizes)
        hidden, state = self._walk(steps, first, reverse)
        return (stack(hidden) if batch_sizes is None else cat(hidden)), state

    def _walk(self, steps, first, reverse):
        """Step by step; batches may become smaller on the way, and what has ended waits for its place in the result."""
        count = steps[-1 if reverse else 0].shape[0]
        state = first if first[0].shape[0] == count else tuple(part[:count] for part in first)
        hidden, finished = [], []
        for gates in reversed(steps) if reverse else steps:
            count, before = gates.shape[0], state[0].shape[0]
            if count < before:
                finished.append(tuple(part[count:] for part in state))
                state = tuple(part[:count] for part in state)
            elif count > before:
                state = tuple(cat([part, more[before:count]]) for part, more in zip(state, first, strict=True))
            state = self.step(gates, state)
            hidden.append(state[0])
        if reverse:
            hidden.reverse()
        if finished:
            state = tuple(cat(pieces) for pieces in zip(state, *reversed(finished), strict=True))
        return hidden, state


class _Lstm(_Cell):
    """Gates i, f, g, o; the state is (hidden, cell)."""

    def step(self, gates, state):
        """The state after a step."""
        hidden, cell = state
        i, f, new, o = addmm(gates, hidden, self.weight).chunk(4, 1)
        cell = lstm_state(i, f, new, cell)
        hidden = sigmoid_mul(o, tanh(cell))  # what is saved is not the cell state, which people may change in place
        return (hidden if self.projection is None else linear(hidden, self.projection)), cell

    def layer(self, gates, first, batch_sizes, reverse):
        """In one pass where all steps have the same batch, and the common types."""
        types = {gates.dtype, self.weight.dtype, *(part.dtype for part in first)}
        if batch_sizes is not None or self.projection is not None or types not in ({_C.float32}, {_C.float64}):
            return super().layer(gates, first, batch_sizes, reverse)
        output, cells, _ = _lstm_sequence(gates.flip(0) if reverse else gates, *first, self.weight.t())
        return (output.flip(0) if reverse else output), (output[-1], cells[-1])


class _Gru(_Cell):
    """Gates r, z, n; the hidden part of n is gated before it is added."""

    @staticmethod
    def inputs(input, weight, bias, hidden_bias):
        """The input's part of the gates' sums."""
        return linear(input, weight, bias)

    def step(self, gates, state):
        """The state after a step."""
        products = state[0] @ self.weight if self.bias is None else addmm(self.bias, state[0], self.weight)
        return (gru_output(*gates.chunk(3, 1), *products.chunk(3, 1), state[0]),)


class _RnnTanh(_Cell):
    """One gate, and tanh."""

    def step(self, gates, state):
        """The state after a step."""
        return (tanh(addmm(gates, state[0], self.weight)),)


class _RnnRelu(_Cell):
    """One gate, and relu."""

    def step(self, gates, state):
        """The state after a step."""
        return (relu(addmm(gates, state[0], self.weight)),)


def _run(kind, input, batch_sizes, hx, params, has_biases, num_layers, rate, train, bidirectional):
    """(output, last states) of all layers; the input is (step, batch, feature), or packed if there are batch sizes."""
    _check_sequences(input, batch_sizes, hx, num_layers * (2 if bidirectional else 1))
    if input.is_cuda:
        options = kind, has_biases, num_layers, rate if train else 0, bidirectional
        found = _by_library(input, batch_sizes, hx, params, *options)
        if found is not None:
            return found
    return _by_steps(kind, input, batch_sizes, hx, params, has_biases, num_layers, rate, train, bidirectional)


def _check_sequences(input, batch_sizes, hx, places):
    """Raises unless the sequences have steps, and as many as there are first states."""
    if batch_sizes is None:
        if input.ndim != 3:
            raise RuntimeError(f"recurrent network: expected an input (step, batch, feature); got {list(input.shape)}")
        steps, batch, *_ = input.shape
    else:
        steps, batch = len(batch_sizes), batch_sizes[0] if batch_sizes else 0
        if input.ndim != 2 or sum(batch_sizes) != len(input) or sorted(batch_sizes, reverse=True) != batch_sizes:
            raise RuntimeError(
                "recurrent network: expected a packed input (row, feature), and batch sizes that never grow and add up "
                f"to the number of rows; got {list(input.shape)} and {batch_sizes}"
            )
    if not steps:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    for state in hx:
        if state.ndim != 3 or state.shape[:2] != (places, batch):
            raise RuntimeError(
                f"recurrent network: expected first states of {places} layers and directions for a batch of {batch}, "
                f"[{places}, {batch}, size]; got {list(state.shape)}"
            )


def _by_steps(kind, input, batch_sizes, hx, params, has_biases, num_layers, rate, train, bidirectional):
    directions = 2 if bidirectional else 1
    per_direction = len(params) // (num_layers * directions)
    needed = 4 if has_biases else 2
    if per_direction < needed:
        raise RuntimeError(f"expected {needed} weights and biases for each of {num_layers * directions} layers and "
                           f"directions; got {len(params)}")  # fmt: skip
    last = []
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            place = layer * directions + direction
            weight, hidden_weight, *rest = params[place * per_direction : (place + 1) * per_direction]
            bias, hidden_bias = rest[:2] if has_biases else (None, None)
            cell = kind(hidden_weight, hidden_bias, *rest[2 if has_biases else 0 :])
            gates = kind.inputs(input, weight, bias, hidden_bias)
            result, state = cell.layer(gates, tuple(part[place] for part in hx), batch_sizes, direction == 1)
            results.append(result)
            last.append(state)
        input = results[0] if directions == 1 else cat(results, -1)
        if rate and train and layer < num_layers - 1:
            input = dropout(input, rate, True)
    return input, tuple(stack(parts) for parts in zip(*last, strict=True))


# ---- A whole network by a library of the device

_KINDS = (_RnnRelu, _RnnTanh, _Lstm, _Gru)


def _param_sizes(kind, features, size, layers, directions, has_biases):
    """The sizes of a network's parameters, in the order in which modules have them."""
    rows = size * {_Lstm: 4, _Gru: 3}.get(kind, 1)
    for layer in range(layers):
        for _ in range(directions):
            yield rows, directions * size if layer else features
            yield rows, size
            yield from [(rows,)] * (2 if has_biases else 0)


def _packed_order(per_direction, count):
    """Where parameters are, in that order, whose values lie one after another for a library: matrices, then biases."""
    return sorted(range(count), key=lambda i: i % per_direction >= 2)


def _by_library(input, batch_sizes, hx, params, kind, has_biases, num_layers, rate, bidirectional):
    """What _run() gives; None where no library takes such a network, or something is wrong with its weights."""
    from ..backends import _precision  # which loads after the table

    hidden, directions = hx[0], 2 if bidirectional else 1
    if _C._open_levels() or not input.numel() or not hidden.numel() or (batch_sizes and not batch_sizes[-1]):
        return None
    sizes = list(_param_sizes(kind, input.shape[-1], hidden.shape[2], num_layers, directions, has_biases))
    if [tuple(each.shape) for each in params] != sizes:
        return None
    if any(each.dtype != input.dtype or each.device != input.device for each in (*hx, *params)):
        return None
    batches = batch_sizes or [input.shape[1]] * input.shape[0]
    rounds = input.dtype == _C.float32 and _precision.get("cuda", "rnn") == "tf32"
    options = _KINDS.index(kind), bidirectional, has_biases, rounds
    rows = input if batch_sizes else input.flatten(0, 1)
    if not _C._takes_recurrent_network(rows, hidden, batches, *options):
        return None
    keeps = is_grad_enabled() and any(each.requires_grad for each in (input, *hx, *params))
    lengths, last = _lengths(batches, input.device), []
    layers = 1 if rate else num_layers  # of a call: what is dropped between layers is drawn here
    for layer in range(0, num_layers, layers):
        places = slice(layer * directions, (layer + layers) * directions)
        per_place = len(params) // (num_layers * directions)
        mine = params[places.start * per_place : places.stop * per_place]
        weights = cat([mine[i].reshape(-1) for i in _packed_order(per_place, len(mine))])
        states = [part[places] for part in hx]
        if layer:
            rows = dropout(rows, rate, True)
        rows, *states, _ = _recurrent_network(
            rows, states[0], states[1] if kind is _Lstm else None, weights, lengths, batches, *options, keeps
        )
        last.append(states[: len(hx)])
    last = last[0] if len(last) == 1 else map(cat, zip(*last, strict=True))
    return (rows if batch_sizes else rows.unflatten(0, input.shape[:2])), tuple(last)


def _lengths(batches, device):
    """How many steps each sequence has."""
    if batches[0] == batches[-1]:
        return full((batches[0],), len(batches), dtype=_C.int32, device=device)
    lengths = []
    for step in range(len(batches), 0, -1):
        lengths += [step] * (batches[step - 1] - len(lengths))
    return _C.tensor(lengths, dtype=_C.int32, device=device)


# What comes from the input's rule is for all arguments, the others have their own for when the input needs no gradient.
op("_recurrent_network(input, hidden, cell, weights, lengths, batch_sizes, kind, bidirectional, biased, "
   "rounds, keeps)",
   native="recurrent_network", outputs=("output", "last_hidden", "last_cell", "reserve"), node="CudnnRnnBackward0",
   public=False, lengths=None,
   fused={
       "input": lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths, output, reserve,
                batch_sizes, kind, bidirectional, biased, rounds:
           _recurrent_network_gradients(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths,
                                        output, reserve, batch_sizes, kind, bidirectional, biased, rounds),
       "hidden": lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths, output, reserve,
                 batch_sizes, kind, bidirectional, biased, rounds:
           _recurrent_network_gradients(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths,
                                        output, reserve, batch_sizes, kind, bidirectional, biased, rounds)[1:],
       "cell": lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths, output, reserve,
               batch_sizes, kind, bidirectional, biased, rounds:
           _recurrent_network_gradients(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths,
                                        output, reserve, batch_sizes, kind, bidirectional, biased, rounds)[2:],
       "weights": lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths, output, reserve,
                  batch_sizes, kind, bidirectional, biased, rounds:
           _recurrent_network_gradients(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, lengths,
                                        output, reserve, batch_sizes, kind, bidirectional, biased, rounds)[3],
   },
   input=lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind, bidirectional,
                biased:
       _network_by_steps(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind,
                         bidirectional, biased),
   hidden=lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind, bidirectional,
                 biased:
       _network_by_steps(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind,
                         bidirectional, biased)[1:],
   cell=lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind, bidirectional,
               biased:
       _network_by_steps(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind,
                         bidirectional, biased)[2:],
   weights=lambda g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind, bidirectional,
                  biased:
       _network_by_steps(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, kind,
                         bidirectional, biased)[3])  # fmt: skip
op("_recurrent_network_gradients(output_grad, hidden_grad, cell_grad, input, hidden, cell, weights, lengths, output, "
   "reserve, batch_sizes, kind, bidirectional, biased, rounds)", native="recurrent_network_gradients", gradient=False,
   public=False)  # fmt: skip


def _network_by_steps(g_output, g_last_hidden, g_last_cell, input, hidden, cell, weights, batch_sizes, *options):
    """The gradients of input, hidden, cell and weights, by the same network in ops that have derivatives."""
    from ..autograd import enable_grad, grad  # which load after the table

    kind, bidirectional, biased = _KINDS[options[0]], *options[1:]
    recorded, size, directions = is_grad_enabled(), hidden.shape[2], 2 if bidirectional else 1
    with enable_grad():
        given = [None if each is None else each.view_as(each) for each in (input, hidden, cell, weights)]
        inputs = [each if each.requires_grad else _C._requiring_grad(each, True) for each in given if each is not None]
        input, hidden, cell, weights = given
        layers, even = hidden.shape[0] // directions, batch_sizes[0] == batch_sizes[-1]
        sizes = list(_param_sizes(kind, input.shape[1], size, layers, directions, biased))
        order, params, start = _packed_order(4 if biased else 2, len(sizes)), [None] * len(sizes), 0
        for place in order:
            count = sizes[place][0] * (sizes[place][1] if len(sizes[place]) > 1 else 1)
            params[place] = weights[start : start + count].view(sizes[place])
            start += count
        sequence = input.unflatten(0, (len(batch_sizes), batch_sizes[0])) if even else input
        hx = (hidden,) if cell is None else (hidden, cell)
        options = biased, layers, 0.0, False, bidirectional
        output, last = _by_steps(kind, sequence, None if even else batch_sizes, hx, params, *options)
        output = output.flatten(0, 1) if even else output
    grads = (g_output, g_last_hidden) if cell is None else (g_output, g_last_hidden, g_last_cell)
    found = list(grad((output, *last), inputs, grads, create_graph=recorded))
    return tuple(found if cell is not None else [*found[:2], None, found[2]])


def _sequence(name, kind, input, args):
    """A network by its two signatures: (input, hx, ..., batch_first), or (data, batch_sizes, hx, ...)."""
    states = 2 if kind is _Lstm else 1
    packed = isinstance(args[0], _C.Tensor) and (states == 2 or isinstance(args[1], _C.Tensor))
    if len(args) != 8:
        raise TypeError(
            f"{name}() takes (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) "
            "or (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)"
        )
    batch_sizes, batch_first = None, False
    if packed:
        batch_sizes, hx, *rest = args
        batch_sizes = batch_sizes.tolist()
    else:
        hx, *rest, batch_first = args
    hx = tuple(hx) if states == 2 else (hx,)
    if len(hx) != states:
        raise RuntimeError(f"{name} expects {states} hidden states")
    output, last = _run(kind, input.transpose(0, 1) if batch_first else input, batch_sizes, hx, *rest)
    return (output.transpose(0, 1) if batch_first else output, *last)


@composite(function_=False, method=False, autocast="lower")
def _lstm_whole(input, *args):
    return _sequence("lstm", _Lstm, input, args)


@composite(method=False, autocast="none, lower")
def lstm(input, *args):
    """Long short-term memory: (output, last hidden states, last cell states); nn.LSTM is the way to call it.

    >>> import adjoint as torch
    >>> weights = [torch.zeros(4, 1), torch.zeros(4, 1)]
    >>> first = torch.zeros(1, 1, 1)
    >>> torch.lstm(torch.ones(2, 1, 1), [first, first], weights, False, 1, 0.0, False, False, False)[0].shape
    torch.Size([2, 1, 1])
    """
    # As in torch, autocast on the CPU lowers the network as a whole, unless its sequences are packed or projected.
    if isinstance(args[0], tuple | list) and len({part.shape[-1] for part in args[0]}) == 1:
        return _lstm_whole(input, *args)
    return _sequence("lstm", _Lstm, input, args)


@composite(method=False, autocast="none, lower")
def gru(input, *args):
    """Gated recurrent units: (output, last hidden states); nn.GRU is the way to call it.

    >>> import adjoint as torch
    >>> weights = [torch.zeros(3, 1), torch.zeros(3, 1)]
    >>> torch.gru(torch.ones(2, 1, 1), torch.zeros(1, 1, 1), weights, False, 1, 0.0, False, False, False)[0].shape
    torch.Size([2, 1, 1])
    """
    return _sequence("gru", _Gru, input, args)


@composite(method=False, autocast="none, lower")
def rnn_tanh(input, *args):
    """A recurrent network with tanh: (output, last hidden states); nn.RNN is the way to call it.

    >>> import adjoint as torch
    >>> weights = [torch.ones(1, 1), torch.zeros(1, 1)]
    >>> torch.rnn_tanh(torch.ones(1, 1, 1), torch.zeros(1, 1, 1), weights, False, 1, 0.0, False, False, False)[0]
    tensor([[[0.7616]]])
    """
    return _sequence("rnn_tanh", _RnnTanh, input, args)


@composite(method=False, autocast="none, lower")
def rnn_relu(input, *args):
    """A recurrent network with relu: (output, last hidden states); nn.RNN is the way to call it.

    >>> import adjoint as torch
    >>> weights = [torch.ones(1, 1), torch.zeros(1, 1)]
    >>> torch.rnn_relu(torch.ones(1, 1, 1), torch.zeros(1, 1, 1), weights, False, 1, 0.0, False, False, False)[0]
    tensor([[[1.]]])
    """
    return _sequence("rnn_relu", _RnnRelu, input, args)


def _cell(kind, input, state, w_ih, w_hh, b_ih, b_hh):
    if (b_ih is None) != (b_hh is None):
        raise RuntimeError("expected both biases of a cell, or none")
    return kind(w_hh, b_hh).step(kind.inputs(input, w_ih, b_ih, b_hh), state)


@composite(method=False, autocast="none, lower")
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM: (hidden state, cell state).

    >>> import adjoint as torch
    >>> state = [torch.zeros(1, 1), torch.ones(1, 1)]
    >>> torch.lstm_cell(torch.zeros(1, 1), state, torch.zeros(4, 1), torch.zeros(4, 1))[1]
    tensor([[0.5000]])
    """
    return _cell(_Lstm, input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


@composite(method=False, autocast="none, lower")
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a GRU.

    >>> import adjoint as torch
    >>> torch.gru_cell(torch.zeros(1, 1), torch.ones(1, 1), torch.zeros(3, 1), torch.zeros(3, 1))
    tensor([[0.5000]])
    """
    return _cell(_Gru, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@composite(method=False, autocast="none, lower")
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a recurrent network with tanh.

    >>> import adjoint as torch
    >>> torch.rnn_tanh_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[0.7616]])
    """
    return _cell(_RnnTanh, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@composite(method=False, autocast="none, lower")
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a recurrent network with relu.

    >>> import adjoint as torch
    >>> torch.rnn_relu_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[1.]])
    """
    return _cell(_RnnRelu, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]
