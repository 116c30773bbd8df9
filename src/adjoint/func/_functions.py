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
from ..utils._pytree import tree_flatten, tree_structure, tree_unflatten
from .forward import check_size
from .jet import CURVES

VmapInfo = collections.namedtuple("VmapInfo", ["batch_size", "randomness"])

_DETAILS = "See docs/transforms.md."


def apply(cls, args, kwargs):
    """What cls.apply(*args, **kwargs) gives under the levels that are open."""
    if getattr(cls, "_runs_in_levels", False):  # one of this package, whose ops are for the levels
        return _C._function_apply_here(cls, *args, **kwargs)
    if kwargs:
        args = _bind(cls.forward, args, kwargs, _is_separate(cls))
    if levels():
        _check_forward(cls)
    for level, size, randomness in reversed(_C._open_levels()):
        if level in CURVES:
            with _resting(level):
                if (outputs := CURVES[level].apply(cls, args)) is not None:
                    return outputs
        elif size is None:
            tangents = [_C._tangent(x, level) if isinstance(x, _C.Tensor) else None for x in args]
            if any(t is not None for t in tangents):
                return _with_tangents(cls, args, level, tangents)
        elif any(_is_batched(x, level) for x in args):
            return _batched(cls, args, level, VmapInfo(size, randomness))
    return _C._function_apply_here(cls, *args)


def _is_separate(cls):
    """Whether forward takes no ctx, which setup_context fills."""
    return cls.setup_context is not Function.setup_context


def _made_by_vmap(cls):
    return hasattr(cls, "_single")


def _check_forward(cls):
    if not _is_separate(cls) and not _made_by_vmap(cls):
        raise RuntimeError(
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
    with _resting(level):
        outputs, ctx = _called(cls, args)
        if cls.jvp is Function.jvp:
            raise NotImplementedError(
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD: "
                f"{cls.__name__} has none. {_DETAILS}"
            )
        along = [
            zeros_like(x) if t is None and isinstance(x, _C.Tensor) else t for x, t in zip(args, tangents, strict=True)
        ]
        _give_tangents(_as_tuple(outputs), _as_tuple(cls.jvp(ctx, *along)), level)
    return outputs


def _called(cls, args):
    """(the outputs, the ctx of the call for jvp)."""
    if _is_separate(cls):
        # A ctx of tensors of this place: one that apply makes may hold those of levels further inside or outside.
        outputs = cls.apply(*args)
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(x, _C.Tensor) and x.requires_grad for x in args)
        cls.setup_context(ctx, args, outputs)
        return outputs, _Context(ctx, _saved(ctx))
    contexts = []

    def forward(ctx, *given):
        outputs = cls.forward(ctx, *given)
        contexts.append(_Context(ctx, _saved(ctx)))
        return outputs

    outputs = type(cls)(cls.__name__, (cls,), {"forward": staticmethod(forward)}).apply(*args)
    return outputs, contexts[-1]


def _give_tangents(outputs, tangents, level):
    if len(outputs) != len(tangents):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(tangents)}): one for each output, None where there is none"
        )
    for output, tangent in zip(outputs, tangents, strict=True):
        moves = isinstance(output, _C.Tensor) and (output.is_floating_point() or output.is_complex())
        if isinstance(tangent, _C.Tensor) and moves:
            check_size(output, tangent)
            _C._give_tangent(output, tangent, level)


# ---- vmap


def _batched(cls, args, level, info):
    _check_forward(cls)
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

    recorded = _C.is_grad_enabled() and any(_is_batched(x, level) and x.requires_grad for x in args)

    def run(*given):
        held = [_C._batch_level(x) if _is_batched(x, level) else (None, x, True) for x in given]
        values = [value for _, value, _ in held]
        dims = tuple(None if shared else 0 for _, _, shared in held)
        with _resting(level):
            if all(dim is None for dim in dims):
                answer = cls.apply(*values), None
            elif own:
                answer = cls.vmap(info, dims, *values)
            else:
                answer = _mapped(cls, info, dims).apply(*values), 0
        return _wrapped(answer, level, recorded)

    if not recorded:
        return run(*args)

    def forward(*given):
        # Nothing is recorded for the batched tensors, which are given without a history, but for their values.
        with enable_grad():
            return run(*(_C._bare(x) if isinstance(x, _C.Tensor) else x for x in given))

    return _C._function_apply_here(type(cls)(cls.__name__, (cls,), {"forward": staticmethod(forward)}), *args)


def _wrapped(answer, level, recorded):
    """The outputs of a vmap staticmethod, as batched tensors; if they get a history of the inside, all of them."""
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
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_structure(out_dims)} but output has structure {spec}. {_DETAILS}"
        )

    def shown(y, dim):
        if not isinstance(y, _C.Tensor) or (dim is None and not recorded):
            return y
        return _C._batch(_C._unbatch(y, level) if dim is None else y.movedim(dim, 0), level)

    return tree_unflatten([shown(y, dim) for y, dim in zip(leaves, dims, strict=True)], spec)


def _mapped(cls, info, dims):
    """The Function of whole batches that vmap makes of one: each of its methods runs in a level of its own."""

    @contextlib.contextmanager
    def inside():
        level = _C._open_batch(info.batch_size, info.randomness)
        try:
            yield level
        finally:
            _C._close_level(level)

    def shown(values, batched, level):
        return tuple(_C._batch(x, level) if b else x for x, b in zip(values, batched, strict=True))

    def whole(answers, level):
        return tuple(_C._unbatch(x, level) if isinstance(x, _C.Tensor) else x for x in _as_tuple(answers))

    def forward(ctx, *values):
        with inside() as level:
            inputs = shown(values, [dim == 0 for dim in dims], level)
            single = ctx.single = FunctionCtx()
            single.needs_input_grad = ctx.needs_input_grad
            if _made_by_vmap(cls):
                outputs = cls.forward(single, *inputs)
            else:
                outputs = cls.forward(*inputs)
                cls.setup_context(single, inputs, outputs)
            for_backward, for_jvp = getattr(single, "to_save", ()), _saved(single)
            ctx.batched = [_is_batched(x, level) for x in for_backward]
            ctx.batched_for_jvp = [_is_batched(x, level) for x in for_jvp]
            ctx.save_for_backward(*(_value(x, level) for x in for_backward))
            ctx.save_for_forward(*(_value(x, level) for x in for_jvp))
            results = whole(outputs, level)
            pairs = zip(_as_tuple(outputs), results, strict=True)
            fixed = getattr(single, "non_differentiable", ())
            ctx.mark_non_differentiable(*(result for y, result in pairs if any(y is each for each in fixed)))
            ctx.set_materialize_grads(getattr(single, "materialize_grads", True))
            return results if isinstance(outputs, tuple) else results[0]

    def backward(ctx, *gradients):
        with inside() as level:
            single = ctx.single
            single.saved_tensors = shown(ctx.saved_tensors, ctx.batched, level)
            single.needs_input_grad = ctx.needs_input_grad
            rule = cls.backward if cls.backward is not Function.backward else cls.vjp
            found = whole(rule(single, *shown(gradients, [g is not None for g in gradients], level)), level)
        return tuple(
            g if dim == 0 or not isinstance(g, _C.Tensor) else g.sum(0) for g, dim in zip(found, dims, strict=False)
        )

    def jvp(ctx, *tangents):
        with inside() as level:
            single = _Context(ctx.single, shown(ctx.saved_tensors, ctx.batched_for_jvp, level))
            batched = [dim == 0 and t is not None for dim, t in zip(dims, tangents, strict=True)]
            return whole(cls.jvp(single, *shown(tangents, batched, level)), level)

    members = {"forward": forward, "backward": backward}
    if cls.jvp is not Function.jvp:
        members["jvp"] = jvp
    members = {name: staticmethod(method) for name, method in members.items()}
    return type(Function)(cls.__name__, (Function,), {**members, "generate_vmap_rule": True, "_single": cls})


def _value(x, level):
    return _C._batch_level(x)[1] if _is_batched(x, level) else x
