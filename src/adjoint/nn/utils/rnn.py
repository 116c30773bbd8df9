"""Batches of sequences of different lengths: padded, packed, and back."""

import collections
import itertools

from ... import _C
from ...ops import language as ops
from ...ops.checks import boolean

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

PackedSequence_ = collections.namedtuple(  # type: ignore[name-match]  # shown as the class below
    "PackedSequence", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"), defaults=(None, None)
)


class PackedSequence(PackedSequence_):
    """Sequences laid one step after the other: `data` holds the first steps of all, then the second ones, and so on.

    `batch_sizes` says how many sequences have each step; the longest come first, in the order of `sorted_indices`.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils.rnn import pack_sequence
    >>> pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])[:2]
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:  # PackedSequence((data, batch_sizes))
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The sequence with its data moved or cast, as by Tensor.to, and the order where the data is."""
        return self._with(self.data.to(*args, **kwargs))

    def _with(self, data):
        """The sequence with other data."""
        if data is self.data:
            return self
        order = [None if each is None else each.to(data.device) for each in self[2:]]
        return type(self)(data, self.batch_sizes, *order)

    def _cast(self, dtype):
        return self.to(dtype)

    def cpu(self):
        """The sequence on the CPU."""
        return self.to(device="cpu")

    def cuda(self, *args, **kwargs):
        """The sequence on a GPU."""
        return self._with(self.data.cuda(*args, **kwargs))

    def pin_memory(self):
        """The sequence in pinned memory."""
        order = [None if each is None else each.pin_memory() for each in self[2:]]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *order)

    def is_pinned(self):
        """Whether the data lies in pinned memory."""
        return self.data.is_pinned()

    def double(self):
        """The sequence in float64."""
        return self._cast(_C.float64)

    def float(self):
        """The sequence in float32."""
        return self._cast(_C.float32)

    def half(self):
        """The sequence in float16."""
        return self._cast(_C.float16)

    def long(self):
        """The sequence in int64."""
        return self._cast(_C.int64)

    def int(self):
        """The sequence in int32."""
        return self._cast(_C.int32)

    def short(self):
        """The sequence in int16."""
        return self._cast(_C.int16)

    def char(self):
        """The sequence in int8."""
        return self._cast(_C.int8)

    def byte(self):
        """The sequence in uint8."""
        return self._cast(_C.uint8)

    @property
    def is_cuda(self):
        """Whether the data lies on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation):
    """The permutation that undoes another; None for None.

    >>> import adjoint as torch
    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    output = ops.empty_like(permutation)
    return output.scatter_(0, permutation, _C.arange(0, permutation.numel(), device=permutation.device))


def _there(steps, lengths):
    """Whether a sequence has a step, (step, batch), for lengths that never grow."""
    return _C.arange(steps, device="cpu").unsqueeze(1) < lengths


def _places(there, device):
    """For each packed element, its place in the flat (step, batch) layout."""
    return there.flatten().nonzero().squeeze(1).to(device)


def _check_lengths(lengths):
    if lengths.ndim != 1 or lengths.dtype != _C.int64 or lengths.device.type != "cpu":
        kind = lengths.type().rpartition(".")[2].removesuffix("Tensor")
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D {lengths.device} {kind} "
            "tensor"
        )


def _check_packed(data, batch_sizes):
    """Refuses batch sizes that are none, that grow, or that ask for more steps than there are."""
    _check_lengths(batch_sizes)
    if batch_sizes.numel() == 0:
        raise RuntimeError("batch_sizes can not be empty")
    counts = batch_sizes.tolist()
    if counts[-1] < 0 or any(a < b for a, b in itertools.pairwise(counts)):
        raise RuntimeError(f"pad_packed_sequence: expected batch sizes from 0 up that do not grow; got {counts}")
    if sum(counts) > data.size(0):
        raise RuntimeError(
            f"shape '{[len(counts), counts[0], *data.shape[1:]]}' is invalid for input of size {data.numel()}: "
            f"the batch sizes speak of {sum(counts)} steps, and data has {data.size(0)}"
        )
    return counts


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs a padded (step, batch, ...) tensor; the lengths must fall unless enforce_sorted=False.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1]).data
    tensor([1, 2, 3])
    """
    boolean("_pack_padded_sequence", batch_first=batch_first)
    if lengths is None or (isinstance(lengths, tuple | list) and None in lengths):
        raise TypeError("pack_padded_sequence: expected lengths to be integers; got None")
    place = lengths.device if isinstance(lengths, _C.Tensor) else "cpu"
    lengths = _C.as_tensor(lengths, dtype=_C.int64, device=place)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = ops.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    _check_lengths(lengths)
    counts = lengths.tolist()
    batch = input.size(1)
    if len(counts) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={batch})"
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in itertools.pairwise(counts)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    there = _there(min(counts[0], input.shape[0]), lengths)
    data = input.reshape(-1, *input.shape[2:]).index_select(0, _places(there, input.device))
    return PackedSequence(data, there.sum(1), sorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded tensor, lengths) of a packed sequence.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]), batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes = sequence.data, _check_packed(sequence.data, sequence.batch_sizes)
    steps, batch = len(batch_sizes), batch_sizes[0]
    data = data[: sum(batch_sizes)]
    there = _there(batch, sequence.batch_sizes).t()
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    padded = _C.full((steps * batch, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = padded.index_copy(0, _places(there, data.device), data).view(steps, batch, *data.shape[1:])
    lengths = there.sum(0)
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stacks sequences of different lengths, the short ones padded.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils.rnn import pad_sequence
    >>> pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    if not isinstance(sequences, collections.abc.Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    boolean("pad_sequence", batch_first=batch_first)
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if any(sequence.ndim == 0 for sequence in sequences):
        raise RuntimeError("pad_sequence: expected sequences, tensors with a length; got one without dimensions")
    rest = sequences[0].shape[1:]
    longest = max(sequence.shape[0] for sequence in sequences)
    padded = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        if sequence.shape[1:] != rest:
            raise RuntimeError(
                f"pad_sequence: Expected sequences that differ in their first size only; got shapes "
                f"{tuple(sequences[0].shape)} and {tuple(sequence.shape)}"
            )
        if missing:
            filler = sequence.new_full((missing, *rest), padding_value)
            sequence = ops.cat([filler, sequence] if padding_side == "left" else [sequence, filler])
        padded.append(sequence)
    return ops.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded tensor as a list.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils.rnn import unpad_sequence
    >>> unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]))
    [tensor([1, 3]), tensor([2])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs a list of sequences; their lengths must fall unless enforce_sorted=False.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils.rnn import pack_sequence
    >>> pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """
    if not isinstance(sequences, list | tuple):
        raise TypeError(f"pack_sequence: expected a list of tensors; got {type(sequences).__name__}")
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a packed one as a list.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])]))
    [tensor([1, 2, 3]), tensor([4])]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
