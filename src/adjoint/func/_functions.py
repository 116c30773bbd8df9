"""Custom Functions under transforms: a level of forward mode asks for their `jvp`, a level of vmap for their `vmap`.

Function.apply comes here while a level is open that concerns one of the arguments. The innermost such level answers; it
rests meanwhile, so that what it calls belongs to the next one outwards.
"""

import collections
import contextlib

from .. import _C
from .._running import levels
from ..autograd.function import Function, FunctionCtx, _bind
from ..autograd.grad_mode import enable_grad
from ..ops.language import zeros_like
from ..utils._pytree import tree_flatten, tree_unflatten

VmapInfo = collections.namedtuple("VmapInfo", ["batch_size", "randomness"])

_DETAILS = "See docs/transforms.md."


def apply(cls, args, kwargs):
    """What cls.apply(*args, **kwargs) gives under the levels that are open."""
    if getattr(cls, "_runs_in_levels", False):  # one of this package, which computes nothing
        return _C._function_apply_here(cls, *args, **kwargs)
    separate = cls.setup_context is not Function.setup_context
    if kwargs:
        args = _bind(cls.forward, args, kwargs, separate)
    for level, size, randomness in reversed(_C._open_levels()):
        if not separate and not hasattr(cls, "_made_by_vmap") and levels():
            raise _without_setup_context(cls)
        if size is None:
            tangents = [_C._tangent(x, level) if isinstance(x, _C.Tensor) else None for x in args]
            if any(t is not None for t in tangents):
                return _with_tangents(cls, args, level, tangents)
        elif any(_is_batched(x, level) for x in args):
            if not separate and not hasattr(cls, "_made_by_vmap"):
                raise _without_setup_context(cls)
            return _batched(cls, args, level, VmapInfo(size, randomness))
    return _C._function_apply_here(cls, *args)


def _without_setup_context(cls):
    return RuntimeError(
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        f"override the setup_context staticmethod: {cls.__name__} has none. {_DETAILS}"
    )


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _is_batched(x, level):
    held = _C._batch_level(x) if isinstance(x, _C.Tensor) else None
    return held is not None and held[0] == level


@contextlib.contextmanager
def _resting(level):
    _C._rest_level(level, True)
    try:
        yield
    finally:
        _C._rest_level(level, False)


# ---- Forward mode


class _Context:
    """The ctx of a call as jvp sees it: what was kept for it, and the attributes of the ctx."""

    def __init__(self, ctx, saved):
        self.__dict__.update(vars(ctx))
        self.saved_tensors = saved
        self.needs_input_grad = getattr(ctx, "needs_input_grad", None)


def _saved(ctx):
    return getattr(ctx, "saved_for_forward", None) or getattr(ctx, "to_save", None) or ()


def _with_tangents(cls, args, level, tangents):
    contexts = []
    if cls.setup_context is not Function.setup_context:

        def setup_context(ctx, inputs, output):
            cls.setup_context(ctx, inputs, output)
            contexts.append(_Context(ctx, _saved(ctx)))

        watched = {"setup_context": staticmethod(setup_context)}
    else:

        def forward(ctx, *given):
            output = cls.forward(ctx, *given)
            contexts.append(_Context(ctx, _saved(ctx)))
            return output

        watched = {"forward": staticmethod(forward)}
    with _resting(level):
        outputs = type(cls)(cls.__name__, (cls,), watched).apply(*args)
        if cls.jvp is Function.jvp:
            raise NotImplementedError(
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD: "
                f"{cls.__name__} has none. {_DETAILS}"
            )
        along = [
            zeros_like(x) if t is None and isinstance(x, _C.Tensor) else t for x, t in zip(args, tangents, strict=True)
        ]
        answers = cls.jvp(contexts[-1], *along)
        single = not isinstance(outputs, tuple)
        pairs = zip(
            (outputs,) if single else outputs, answers if isinstance(answers, tuple) else (answers,), strict=False
        )
        for output, tangent in pairs:
            if isinstance(tangent, _C.Tensor) and isinstance(output, _C.Tensor):
                _C._give_tangent(output, tangent, level)
    return outputs


# ---- vmap


def _batched(cls, args, level, info):
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {_DETAILS}"
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            f"the vmap staticmethod or set generate_vmap_rule=True. {_DETAILS}"
        )

    def run(*given):
        held = [_C._batch_level(x) if _is_batched(x, level) else (None, x, True) for x in given]
        values = [value for _, value, _ in held]
        dims = tuple(None if shared else 0 for _, _, shared in held)
        with _resting(level):
            if own:
                return _wrapped(cls.vmap(info, dims, *values), level)
            outputs = _mapped(cls, info, dims).apply(*values)
        return _wrapped((outputs, 0), level)

    recorded = _C.is_grad_enabled() and any(_is_batched(x, level) and x.requires_grad for x in args)
    if not recorded:
        return run(*args)

    def forward(*given):
        # Nothing is recorded for the batched tensors, which are given without a history, but for their values.
        with enable_grad():
            return run(*(_C._bare(x) if isinstance(x, _C.Tensor) else x for x in given))

    return _C._function_apply_here(type(cls)(cls.__name__, (cls,), {"forward": staticmethod(forward)}), *args)


def _wrapped(answer, level):
    """The outputs of a vmap staticmethod, as batched tensors."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(answer)} instead"
        )
    from .vmap import spread_prefix

    outputs, out_dims = answer
    leaves, spec = tree_flatten(outputs)
    dims = spread_prefix(out_dims, outputs)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`, {spec}."
        )
    shown = [
        y if dim is None or not isinstance(y, _C.Tensor) else _C._batch(y.movedim(dim, 0), level)
        for y, dim in zip(leaves, dims, strict=True)
    ]
    return tree_unflatten(shown, spec)


def _mapped(cls, info, dims):
    """The Function of whole batches that vmap makes of one: forward and backward run in a level of their own."""

    def inside(values, batched, level):
        return [_C._batch(x, level) if b else x for x, b in zip(values, batched, strict=True)]

    def outside(values, level):
        return [_C._unbatch(x, level) if isinstance(x, _C.Tensor) else x for x in values]

    def forward(ctx, *values):
        level = _C._open_batch(info.batch_size, info.randomness)
        try:
            inputs = inside(values, [dim == 0 for dim in dims], level)
            inner = FunctionCtx()
            inner.needs_input_grad = ctx.needs_input_grad
            if hasattr(cls, "_made_by_vmap"):
                outputs = cls.forward(inner, *inputs)
            else:
                outputs = cls.forward(*inputs)
                cls.setup_context(inner, tuple(inputs), outputs)
            saved = getattr(inner, "to_save", ())
            ctx.inner, ctx.saved_batched = inner, [_is_batched(x, level) for x in saved]
            ctx.save_for_backward(*(x if x is None else _value(x, level) for x in saved))
            results = outside(_as_tuple(outputs), level)
            return tuple(results) if isinstance(outputs, tuple) else results[0]
        finally:
            _C._close_level(level)

    def backward(ctx, *gradients):
        level = _C._open_batch(info.batch_size, info.randomness)
        try:
            inner = ctx.inner
            inner.saved_tensors = tuple(inside(ctx.saved_tensors, ctx.saved_batched, level))
            inner.needs_input_grad = ctx.needs_input_grad
            given = [g if g is None else _C._batch(g, level) for g in gradients]
            rule = cls.backward if cls.backward is not Function.backward else cls.vjp
            found = outside(_as_tuple(rule(inner, *given)), level)
        finally:
            _C._close_level(level)
        return tuple(
            g if dim == 0 or not isinstance(g, _C.Tensor) else g.sum(0) for g, dim in zip(found, dims, strict=False)
        )

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), "generate_vmap_rule": True}
    members["_made_by_vmap"] = True
    return type(Function)(cls.__name__, (Function,), members)


def _value(x, level):
    return _C._batch_level(x)[1] if _is_batched(x, level) else x
