"""What torch.library.opcheck() checks of an op that a program has defined."""

from . import _C
from ._custom_op import _leaves, _mapped

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """An op does not do what it declares."""


def run(op, args, kwargs, tests, raises, atol, rtol):
    """Runs the tests of these names: name -> "SUCCESS", or the exception."""
    names = TESTS if tests is None else (tests,) if isinstance(tests, str) else tuple(tests)
    if not set(names) <= set(_CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(_CHECKS)} but it was not"
        )
    results: dict = {}
    for name in names:
        try:
            _CHECKS[name](op, args, kwargs, atol, rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raises:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _copied(values):
    return _mapped(values, lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad))


def _check_schema(op, args, kwargs, atol, rtol):
    """What is changed is declared so, and results are memory of their own."""
    values = op.schema.bind(args, kwargs)
    fresh = _mapped(values, lambda tensor: tensor.detach().clone())
    before = [tensor.clone() for tensor in _leaves(fresh)]
    op.run(fresh)
    written = []
    for argument, value in zip(op.schema.arguments, fresh, strict=True):
        written += [argument.is_write] * len(_leaves([value]))
    for tensor, former, may in zip(_leaves(fresh), before, written, strict=True):
        if not may and not _C.op_object("equal")(tensor, former):
            raise RuntimeError(
                f"Argument of {op.overload} is not defined as mutable but was mutated: name it in mutates_args, or "
                "leave it alone"
            )


def _check_autograd(op, args, kwargs, atol, rtol):
    """A gradient is registered, where one is wanted, in a way that transforms see."""
    tensors = _leaves(op.schema.bind(args, kwargs))
    # A custom op has one that raises when it is asked, as in torch.
    has_formula = op.checks_aliases or op.backward or op.autograd_kernel or op.composite
    if any(tensor.requires_grad for tensor in tensors) and not has_formula:
        raise RuntimeError(
            f"{op.overload} got tensors that require grad, and no autograd formula was registered; use "
            "register_autograd to add one"
        )


def _check_fake(op, args, kwargs, atol, rtol):
    """The fake kernel gives the shapes and types of the real one."""
    if op.composite is not None:
        return
    values = op.schema.bind(args, kwargs)
    real = _leaves([op.run(_mapped(values, lambda tensor: tensor.detach().clone()))])
    fake = _leaves([op.run(_mapped(values, lambda tensor: tensor.detach().to("meta")))])
    for one, other in zip(real, fake, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise RuntimeError(
                f"the fake kernel of {op.overload} gives {tuple(other.shape)} of {other.dtype} where the op gives "
                f"{tuple(one.shape)} of {one.dtype}"
            )


def _check_calls(op, args, kwargs, atol, rtol):
    """Called twice, with gradients, it gives the same."""
    from .autograd import grad
    from .testing import assert_close

    runs = []
    for _ in range(2):
        taken = _copied(args)
        given = _leaves([op(*taken, **kwargs)])
        leaves = [tensor for tensor in _leaves(taken) if tensor.requires_grad]
        roots = [tensor for tensor in given if tensor.requires_grad]
        slopes = grad([root.sum() for root in roots], leaves, allow_unused=True) if roots and leaves else ()
        runs.append([*given, *slopes])
    for one, other in zip(*runs, strict=True):
        assert_close(one, other, atol=atol, rtol=rtol)


_CHECKS = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_calls,
    "test_aot_dispatch_dynamic": _check_calls,
}
