"""Selective checkpoints: what some ops compute is kept, so that they need not run again with the rest.

The forward runs under a level that asks a policy about each op. The recomputation runs under another one: an op whose
result was kept does not run, and what its node would save, its arguments and results, is handed to the checkpoint.
"""

import contextlib
import enum
from _thread import _local as thread_local

from .. import _C, _aten, _ops
from ..ops.batching import call

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What becomes of the result of an op in a selective checkpoint; those with CPU_OFFLOAD are kept as they are.

    >>> from adjoint.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE.value
    0
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = {policy for policy in CheckpointPolicy if not policy.name.endswith("RECOMPUTE")}


class SelectiveCheckpointContext:
    """What a policy function is told beside the op and its arguments: the result.

    >>> from adjoint.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False).op_output is None
    True
    """

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


# ---- What nodes save, as the checkpoint around sees it


class _Watch(thread_local):
    frame = None  # the checkpoint whose forward runs
    saved = None  # a list of (tensor, place), what an op of that forward has saved so far
    save = None  # a function(tensor, place), while a checkpoint runs again


watch = _Watch()


@contextlib.contextmanager
def watching(frame=None, save=None):
    """While it holds, a checkpoint runs, for the first time or again."""
    before = watch.frame, watch.saved, watch.save
    watch.frame, watch.saved, watch.save = frame, None, save
    try:
        yield
    finally:
        watch.frame, watch.saved, watch.save = before


def _origin(tensor, arguments, results):
    """Where a saved tensor is found again: ("argument" or "result", its place); None if it is neither."""
    for kind, values in (("result", results), ("argument", arguments)):
        for place, value in enumerate(values):
            if isinstance(value, _C.Tensor) and _same(value, tensor):
                return kind, place
    return None


def _same(a, b):
    return a._storage_id() == b._storage_id() and a.storage_offset() == b.storage_offset() and (
        a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype
    )  # fmt: skip


class _Kept:
    """The results of a call, and how to hand on what its node has saved."""

    __slots__ = ("origins", "requires_grad", "results", "single", "versions")

    def __init__(self, results, saved, arguments):
        self.single = isinstance(results, _C.Tensor)
        tensors = (results,) if self.single else tuple(results)
        self.origins = [(_origin(tensor, arguments, tensors), place) for tensor, place in saved]
        self.requires_grad = [tensor.requires_grad for tensor in tensors]
        self.results = [_C._bare(tensor) for tensor in tensors]
        self.versions = [tensor._version for tensor in tensors]

    def complete(self):
        """Whether the node has saved nothing but arguments and results."""
        return all(origin is not None for origin, _ in self.origins)

    def give(self, arguments, check):
        """Hands on what the node saved; the results, as of a call that was recorded."""
        if check and [tensor._version for tensor in self.results] != self.versions:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        for (kind, place), where in self.origins:
            watch.save(self.results[place] if kind == "result" else arguments[place], where)
        # Leaves, so that what is computed from them is recorded; their own history serves nobody.
        results = [
            _C._requiring_grad(tensor.detach(), requires)
            for tensor, requires in zip(self.results, self.requires_grad, strict=True)
        ]
        return results[0] if self.single else results


# ---- The two contexts


class _Level:
    """A context in which ops go through `handle`."""

    def __enter__(self):
        self._numbers = [*getattr(self, "_numbers", ()), _C._open_handled(self.handle)]
        return self

    def __exit__(self, *exception):
        _C._close_level(self._numbers.pop())


class _Caching(_Level):
    """The forward's: keeps what the policy says."""

    def __init__(self, policy, storage):
        self.policy, self.storage = policy, storage

    def handle(self, op, arguments, in_place):
        if in_place:
            result = _C._call_slots(op, arguments, True)
            self.ask(op, arguments, arguments[0], True)  # it runs again in any case: what it changes is not kept
            return result
        outer, watch.saved = watch.saved, []
        try:
            results = call(op, *arguments)
            saved = watch.saved
        finally:
            watch.saved = outer
        if not _kept_whole(results) or op.__name__ in _IGNORED:
            return results
        chosen = self.ask(op, arguments, results, False)
        kept = _Kept(results, saved, arguments) if chosen in _KEPT else None
        self.storage.append((op.__name__, kept if kept is not None and kept.complete() else None))
        return results

    def ask(self, op, arguments, results, in_place):
        """What the policy says of a call, which it is told by its name in torch.ops."""
        overload, args, kwargs = _spelled(op, arguments, in_place)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=results)
        chosen = self.policy(context, overload, *args, **kwargs)
        return CheckpointPolicy.MUST_SAVE if chosen is True else chosen


def _spelled(op, arguments, in_place):
    """(overload, args, kwargs) of a call. A linear layer is the product that torch makes of it, as policies name it."""
    if op.__name__ == "linear_plain":
        input, weight = arguments
        return _ops.namespace("aten").mm.default, (input, weight.t()), {}
    if op.__name__ == "linear_biased":
        bias, input, weight = arguments
        return _ops.namespace("aten").addmm.default, (bias, input, weight.t()), {}
    spelled = _aten.Call(op, arguments, in_place)
    return spelled.overload, spelled.args, spelled.kwargs


class _Cached(_Level):
    """The recomputation's: gives what was kept, and computes the rest."""

    def __init__(self, storage, check):
        self.storage, self.check = storage, check
        self.place = 0

    def __enter__(self):
        if self.place:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        return super().__enter__()

    def handle(self, op, arguments, in_place):
        if in_place:
            return _C._call_slots(op, arguments, True)
        name, kept = self.storage[self.place] if self.place < len(self.storage) else (None, None)
        if name != op.__name__ or kept is None or watch.save is None:
            results = call(op, *arguments)
            if _kept_whole(results) and op.__name__ not in _IGNORED:
                self.place += 1
            return results
        self.storage[self.place] = (name, None)
        self.place += 1
        return kept.give(arguments, self.check)


# No policy is asked about these, as in torch: they compute nothing.
_IGNORED = frozenset({"detach", "alias"})
SAC_IGNORED_OPS = _IGNORED


def _kept_whole(results):
    return isinstance(results, _C.Tensor) or (
        isinstance(results, tuple | list) and bool(results) and all(isinstance(each, _C.Tensor) for each in results)
    )


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The two contexts of a checkpoint that keeps the results of some ops: give it, with a policy, as `context_fn`.

    A policy is a list of ops whose results are kept, or a function policy(ctx, op, *args, **kwargs) that returns a
    CheckpointPolicy. Ops are overloads such as torch.ops.aten.mm.default.

    >>> import functools
    >>> import adjoint as torch
    >>> from adjoint.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> checkpoint(lambda x: torch.mm(x, x).sin(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    >>> x.grad
    tensor([[-1.6646, -1.6646],
            [-1.6646, -1.6646]])
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, _ops.OpOverload):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. Name one "
                    "overload, as in `torch.ops.aten.mm.default`."
                )
        chosen = set(policy_fn_or_list)

        def policy(ctx, op, *args, **kwargs):
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: list = []
    return _Caching(policy, storage), _Cached(storage, not allow_cache_entry_mutation)
