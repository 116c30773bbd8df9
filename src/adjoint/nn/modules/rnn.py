"""Recurrent networks: RNN, LSTM, GRU and their cells."""

import math
import warnings

from ... import _C
from ...ops import language as ops
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_STATES = "layers * directions, batch, hidden_size"  # as errors name the dimensions of a hidden state
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What RNN, LSTM and GRU share: the parameters of all layers and directions, and the checks of their input.

    >>> import adjoint as torch
    >>> isinstance(torch.nn.LSTM(2, 3), torch.nn.RNNBase)
    True
    """

    __constants__ = (
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    )

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout) if isinstance(dropout, (int, float)) else dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        gates = _GATES[mode] * hidden_size
        output = proj_size or hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                width = input_size if layer == 0 else output * (2 if bidirectional else 1)
                shapes = {"weight_ih": (gates, width), "weight_hh": (gates, output)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(_C.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_arguments(self, dropout):
        for name, kind in (("input_size", int), ("hidden_size", int), ("num_layers", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if not isinstance(self.bias, bool):
            raise TypeError(f"bias should be of type bool, got: {type(self.bias).__name__}")
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self):
        """The parameters of each layer and direction, as lists."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Does nothing: the parameters need no common memory here."""

    def reset_parameters(self):
        """Draws all parameters uniformly from within 1 / sqrt(hidden_size) of zero."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        """The sizes, and the options that differ from their defaults."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0}
        for name, default in (defaults | {"bidirectional": False}).items():
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)

    # ---- Calling

    def check_input(self, input, batch_sizes):
        """Raises unless the input has the network's number of features and type."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype and not (_C._autocast_enabled() or _C._autocast_gpu_enabled()):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}; the "
                f"input is {list(input.shape)}, and must be [{self._order()}]"
            )

    def _order(self):
        """The dimensions of a batched input, as errors name them."""
        front = "batch, sequence" if self.batch_first else "sequence, batch"
        return f"{front}, input_size={self.input_size}"

    def _state_size(self, input, batch_sizes, width):
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape that the hidden state must have for an input."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """Raises unless the hidden state has a shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            text = msg.format(tuple(expected_hidden_size), list(hx.size()))
            raise RuntimeError(f"{text}; states are [{_STATES}], whatever batch_first is")

    def check_forward_args(self, input, hidden, batch_sizes):
        """Raises unless input and hidden state fit the network and each other."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The hidden state with its batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _check_states(self, states, batched):
        """Raises unless the given states have as many dimensions as the input."""
        if not batched and states[0].dim() != 2:
            raise RuntimeError(
                f"For unbatched 2-D input, hx should also be 2-D but got {states[0].dim()}-D tensor; states are "
                f"[{_STATES}] without the batch"
            )
        if batched and states[0].dim() != 3:
            raise RuntimeError(
                f"For batched 3-D input, hx should also be 3-D but got {states[0].dim()}-D tensor; states are "
                f"[{_STATES}]"
            )

    def _first_states(self, input, batch_sizes):
        return [_C.zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device)]

    def _run(self, function, input, states, join, split):
        """(output, last states) of all layers; `join` and `split` turn the states into what the network takes."""
        batch_sizes = unsorted = None
        batched = True
        if isinstance(input, PackedSequence):
            original = input
            input, batch_sizes, order, unsorted = original
            if states is not None:
                states = [part.index_select(1, order) if order is not None else part for part in states]
        else:
            if input.dim() not in (2, 3):
                raise ValueError(
                    f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead; the input is "
                    f"{list(input.shape)}, and must be [{self._order()}]"
                )
            batched = input.dim() == 3
            if states is not None:
                self._check_states(states, batched)
            if not batched:
                input = input.unsqueeze(0 if self.batch_first else 1)
                states = None if states is None else [part.unsqueeze(1) for part in states]
        if states is None:
            states = self._first_states(input, batch_sizes)
        self.check_forward_args(input, join(states), batch_sizes)
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is not None:
            output, *last = function(input, batch_sizes, join(states), *options)
            output = PackedSequence(output, *original[1:])
            return output, split([self.permute_hidden(part, unsorted) for part in last])
        output, *last = function(input, join(states), *options, self.batch_first)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            last = [part.squeeze(1) for part in last]
        return output, split(last)


def _first(states):
    return states[0]


class RNN(RNNBase):
    """Layers of h' = tanh(W x + V h), or relu.

    >>> import adjoint as torch
    >>> output, last = torch.nn.RNN(3, 4, num_layers=2)(torch.zeros(5, 2, 3))
    >>> output.shape, last.shape
    (torch.Size([5, 2, 4]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)

    def forward(self, input, hx=None):
        """(the last layer's hidden states, the last hidden state of every layer)."""
        function = ops.rnn_tanh if self.mode == "RNN_TANH" else ops.rnn_relu
        return self._run(function, input, None if hx is None else [hx], _first, _first)


class GRU(RNNBase):
    """Layers of gated recurrent units.

    >>> import adjoint as torch
    >>> output, last = torch.nn.GRU(3, 4, bidirectional=True)(torch.zeros(5, 2, 3))
    >>> output.shape, last.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        """(the last layer's hidden states, the last hidden state of every layer)."""
        return self._run(ops.gru, input, None if hx is None else [hx], _first, _first)


class LSTM(RNNBase):
    """Layers of long short-term memory.

    >>> import adjoint as torch
    >>> output, (hidden, cell) = torch.nn.LSTM(3, 4, batch_first=True)(torch.zeros(2, 5, 3))
    >>> output.shape, hidden.shape, cell.shape
    (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape that the cell state must have for an input."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        """Raises unless input and both states fit the network and each other."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for i, size in enumerate(sizes):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx, permutation):
        """A state, or both of them, with the batch in another order."""
        if isinstance(hx, tuple):
            return tuple(super(LSTM, self).permute_hidden(part, permutation) for part in hx)
        return super().permute_hidden(hx, permutation)

    def _check_states(self, states, batched):
        wanted, kind = (3, "batched") if batched else (2, "unbatched")
        if any(part.dim() != wanted for part in states):
            got = ", ".join(f"{part.dim()}-D" for part in states)
            raise RuntimeError(
                f"For {kind} {wanted}-D input, hx and cx should also be {wanted}-D but got ({got}) tensors; "
                f"states are [{_STATES}]{'' if batched else ' without the batch'}"
            )

    def _first_states(self, input, batch_sizes):
        size = self.get_expected_cell_size(input, batch_sizes)
        return [*super()._first_states(input, batch_sizes), _C.zeros(size, dtype=input.dtype, device=input.device)]

    def forward(self, input, hx=None):
        """(the last layer's hidden states, (last hidden states, last cell states) of every layer)."""
        if hx is not None and not isinstance(hx, tuple | list | _C.Tensor):
            raise TypeError(
                f"'{type(hx).__name__}' object is not subscriptable: LSTM expects hx to be the tensors (h_0, c_0)"
            )
        if isinstance(hx, tuple | list) and len(hx) < 2:
            raise IndexError(f"{type(hx).__name__} index out of range: LSTM expects hx to be the tensors (h_0, c_0)")
        if isinstance(hx, _C.Tensor) and hx.ndim > 0 and hx.shape[0] < 2:
            raise IndexError(
                f"index 1 is out of bounds for dimension 0 with size {hx.shape[0]}; LSTM expects hx to be the "
                "two tensors (h_0, c_0)"
            )
        return self._run(ops.lstm, input, None if hx is None else [hx[0], hx[1]], tuple, tuple)


class RNNCellBase(Module):
    """What the cells share: their parameters, and the checks of their input.

    >>> import adjoint as torch
    >>> isinstance(torch.nn.GRUCell(2, 3), torch.nn.RNNCellBase)
    True
    """

    __constants__: tuple = ("input_size", "hidden_size", "bias")

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(_C.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(_C.empty((rows, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(_C.empty(rows, device=device, dtype=dtype))
            self.bias_hh = Parameter(_C.empty(rows, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws all parameters uniformly from within 1 / sqrt(hidden_size) of zero."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        """The sizes, and the options that differ from their defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += ", bias=False"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _step(self, function, input, states, count):
        """The states after a step, from those given or from zeros."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                which = "hidden" if count == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if states is None:
            states = [_C.zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)] * count
        elif single:
            states = [state.unsqueeze(0) for state in states]
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        for i, state in enumerate(states):
            if state.dim() != 2 or state.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.size(1)}, expected {self.hidden_size}"
                )
            if state.size(0) != input.size(0):
                raise RuntimeError(
                    f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {state.size(0)}"
                )
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        result = function(input, states[0] if count == 1 else states, *weights)
        results = [result] if count == 1 else result
        return [part.squeeze(0) for part in results] if single else list(results)


class RNNCell(RNNCellBase):
    """One step of h' = tanh(W x + V h), or relu.

    >>> import adjoint as torch
    >>> torch.nn.RNNCell(3, 4)(torch.zeros(2, 3)).shape
    torch.Size([2, 4])
    """

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        """The hidden state after a step."""
        functions = {"tanh": ops.rnn_tanh_cell, "relu": ops.rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(functions[self.nonlinearity], input, None if hx is None else [hx], 1)[0]


class LSTMCell(RNNCellBase):
    """One step of long short-term memory.

    >>> import adjoint as torch
    >>> hidden, cell = torch.nn.LSTMCell(3, 4)(torch.zeros(2, 3))
    >>> hidden.shape, cell.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        """(hidden state, cell state) after a step."""
        if hx is not None and not isinstance(hx, (tuple, list)):
            raise TypeError(
                f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}"
            )
        if hx is not None and len(hx) != 2:
            raise RuntimeError(f"lstm_cell expects two hidden states, hx = (h_0, c_0); got {len(hx)}")
        return tuple(self._step(ops.lstm_cell, input, None if hx is None else [hx[0], hx[1]], 2))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    >>> import adjoint as torch
    >>> torch.nn.GRUCell(3, 4)(torch.zeros(2, 3)).shape
    torch.Size([2, 4])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        """The hidden state after a step."""
        return self._step(ops.gru_cell, input, None if hx is None else [hx], 1)[0]
