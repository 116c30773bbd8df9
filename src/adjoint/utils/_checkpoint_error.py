"""What to say when a checkpoint's function does not save the same tensors in its second run."""


class CheckpointError(RuntimeError):
    """The recomputation of a checkpoint does not fit its forward.

    >>> from adjoint.utils.checkpoint import CheckpointError
    >>> issubclass(CheckpointError, RuntimeError)
    True
    """

    def __init__(self, *args):
        super().__init__(*args)


class Record:
    """A tensor that was saved: its shape, type and device, and the node that saved it, by name and line."""

    __slots__ = ("metadata", "place")

    def __init__(self, tensor, place):
        self.metadata = (tensor.shape, tensor.dtype, tensor.device)
        self.place = place

    def differs(self, other):
        """Whether two records cannot be of the same tensor: another shape, type, device, or op that saved it."""
        return self.metadata != other.metadata or self.place[0] != other.place[0]

    def metadata_text(self):
        return "{{'shape': {!r}, 'dtype': {!r}, 'device': {!r}}}".format(*self.metadata)

    def __str__(self):
        shape, dtype, _ = self.metadata
        name, code, instruction = self.place
        return f"a {dtype} tensor of shape {list(shape)}, saved by {name}{line_text(code, instruction)}"


def line_text(code, instruction):
    """ " at file.py:12 in f" for an instruction of a code object; nothing where it is not known."""
    if code is None:
        return ""
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end and line is not None)
    return f" at {code.co_filename}:{next(lines, code.co_firstlineno)} in {code.co_name}"


_REPAIR = (
    "The function must do the same in both runs: it may not depend on what changes between forward and backward (a "
    "counter, a cache, a module's training mode, the time), and random numbers must come from the default generator, "
    "with preserve_rng_state=True."
)


def first_difference(before, again):
    """Which saved tensor is the first that differs, by op, line, shape or type."""
    for number, (one, other) in enumerate(zip(before, again, strict=False)):
        if one.differs(other) or one.place != other.place:
            return f"They differ first in tensor {number}:\n  in forward: {one}\n  in recomputation: {other}\n"
    number = min(len(before), len(again))
    if len(before) == len(again):
        return ""
    one = before[number] if number < len(before) else "no more was saved"
    other = again[number] if number < len(again) else "no more was saved"
    return f"They differ first in tensor {number}:\n  in forward: {one}\n  in recomputation: {other}\n"


def _message(opening, before, again, debug):
    text = f"{opening}\n{first_difference(before, again)}{_REPAIR}"
    if not debug:
        return f"{text} Pass debug=True to checkpoint() to see all that was saved."
    lists = ["\n".join(f"  {number}: {record}" for number, record in enumerate(records)) for records in (before, again)]
    return (
        " An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed "
        f"`debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\nSaved in forward:\n{lists[0]}\n\n"
        f"Saved in recomputation:\n{lists[1]}\n\n{text}"
    )


def surplus(before, again, debug):
    """The message for a recomputation that saves more than the forward."""
    opening = "trying to save more tensors during recomputation than during the original forward pass."
    return _message(f"torch.utils.checkpoint: {opening}", before, again, debug)


def mismatch(before, again, check, debug):
    """The message for a recomputation that has come to its end, or None if all is well."""
    if len(before) != len(again):
        opening = (
            "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
            f"recomputation.\nNumber of tensors saved during forward: {len(before)}\n"
            f"Number of tensors saved during recomputation: {len(again)}."
        )
        return _message(opening, before, again, debug)
    wrong = [
        f"tensor at position {number}:\nsaved metadata: {one.metadata_text()}\n"
        f"recomputed metadata: {other.metadata_text()}\n"
        for number, (one, other) in enumerate(zip(before, again, strict=True))
        if one.differs(other)
    ]
    if not (check and wrong):
        return None
    opening = (
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
        f"forward pass.\n{''.join(wrong)}"
    )
    return _message(opening, before, again, debug)
