"""First values of parameters, drawn from torch's streams: the same seed gives the same network."""

import functools
import math
import warnings

from .. import _C
from .._install import say_what_is_absent as _say_what_is_absent
from ..autograd.grad_mode import no_grad

_NAMES = [
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "orthogonal_",
    "sparse_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
]
# Each of these has its name of old, without the underscore.
__all__ = ["calculate_gain", "ones_", "trunc_normal_", "zeros_", *_NAMES, *(name[:-1] for name in _NAMES)]

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance of activations across a nonlinearity.

    - param: of leaky_relu, its slope.

    >>> import adjoint as torch
    >>> torch.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _both_fans(tensor):
    """The sum of both fans."""
    total = float(sum(_calculate_fan_in_and_fan_out(tensor)))
    if total == 0:
        raise ZeroDivisionError("float division by zero: a tensor without elements has no fans")
    return total


def _overridable(function):
    """Lets the tensor, or a mode, take a call over; all arguments go by name then, as in torch."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _C._has_torch_function_variadic(*args, *kwargs.values()):
            from ..overrides import handle_torch_function

            defaults = dict(zip(names[-len(function.__defaults__ or ()) :], function.__defaults__ or (), strict=False))
            given = defaults | dict(zip(names, args, strict=False)) | kwargs
            if given.keys() != set(names) or len(args) > len(names):
                return function(*args, **kwargs)  # which refuses
            return handle_torch_function(call, (given.get("tensor"),), **{name: given[name] for name in names})
        return function(*args, **kwargs)

    call._asks_overrides = True
    return call


@_overridable
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fills a tensor from the uniform distribution on [a, b).

    >>> import adjoint as torch
    >>> torch.nn.init.uniform_(torch.empty(2), 3.0, 3.0)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


@_overridable
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fills a tensor from the normal distribution.

    - mean, std: of the distribution.

    >>> import adjoint as torch
    >>> torch.nn.init.normal_(torch.empty(2), 3.0, 0.0)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fills a tensor from the normal distribution, values outside [a, b] drawn anew.

    - mean, std: of the distribution before it is cut.

    >>> import adjoint as torch
    >>> bool((torch.nn.init.trunc_normal_(torch.empty(9), a=0.0, b=1.0) >= 0).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )

    def cdf(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    def normal():
        drawn = _C.empty_like(tensor).normal_(mean, std, generator=generator)
        return drawn, (drawn >= a) & (drawn <= b)

    def uniform():
        drawn = _C.empty_like(tensor).uniform_(a, b, generator=generator)
        chance = _C.empty_like(tensor).uniform_(generator=generator)
        return drawn, chance.log_() <= (peak - ((drawn - mean) / std).square_()).div_(2)

    if not math.isfinite(mean) or any(math.isnan(value) for value in (std, a, b)):
        raise ValueError(
            "trunc_normal_: expected a finite mean, and std, a and b that are numbers, as no value would be accepted; "
            f"got mean={mean}, std={std}, a={a}, b={b}"
        )
    if std == 0:
        raise ZeroDivisionError("float division by zero: trunc_normal_ expects a positive std; got 0")
    peak = ((min(max(mean, a), b) - mean) / std) ** 2  # of the density within [a, b]
    likely = cdf((b - mean) / std) - cdf((a - mean) / std) > 0.3
    with no_grad():
        missing = _C.ones_like(tensor, dtype=_C.bool)
        while bool(missing.any()):  # all are drawn again, as torch does: the streams stay the same
            drawn, accepted = normal() if likely else uniform()
            tensor.copy_(drawn.where(missing, tensor))
            missing &= ~accepted
    return tensor


@_overridable
def constant_(tensor, val):
    """Fills a tensor with a number.

    - val: the value.

    >>> import adjoint as torch
    >>> torch.nn.init.constant_(torch.empty(2), 3.0)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Fills a tensor with ones.

    >>> import adjoint as torch
    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    with no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor):
    """Fills a tensor with zeros.

    >>> import adjoint as torch
    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    with no_grad():
        return tensor.zero_()


def eye_(tensor):
    """Makes a matrix the identity, as far as its shape allows.

    >>> import adjoint as torch
    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(_C.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor, groups=1):
    """Makes the weight of a convolution one that preserves its input channels, as far as there are outputs.

    - groups: into how many groups the channels are split.

    >>> import adjoint as torch
    >>> torch.nn.init.dirac_(torch.empty(2, 2, 3))[1]
    tensor([[0., 0., 0.],
            [0., 1., 0.]])
    """
    sizes = tensor.shape
    if len(sizes) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple(size // 2 for size in sizes[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, sizes[1])):
                tensor[(group * per_group + channel, channel, *middle)] = 1
        return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Fills uniformly so that variance is kept in both directions (Glorot and Bengio, 2010).

    - gain: a factor.

    >>> import adjoint as torch
    >>> bool(torch.nn.init.xavier_uniform_(torch.empty(2, 4)).abs().max() <= 1)
    True
    """
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / _both_fans(tensor))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Fills normally so that variance is kept in both directions (Glorot and Bengio, 2010).

    - gain: a factor.

    >>> import adjoint as torch
    >>> torch.nn.init.xavier_normal_(torch.empty(2, 4)).shape
    torch.Size([2, 4])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / _both_fans(tensor)), generator)


def _calculate_correct_fan(tensor, mode):
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out


def _warn_of_no_elements(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


@_overridable
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fills uniformly so that variance is kept across rectifiers (He et al., 2015).

    - mode: 'fan_in' keeps the variance forward, 'fan_out' backward.
    - nonlinearity: the function that follows, by its name in nn.functional.

    >>> import adjoint as torch
    >>> bool(torch.nn.init.kaiming_uniform_(torch.empty(2, 6)).abs().max() <= 1)
    True
    """
    if _warn_of_no_elements(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(fan))
    return uniform_(tensor, -bound, bound, generator)


@_overridable
def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fills normally so that variance is kept across rectifiers (He et al., 2015).

    - mode: 'fan_in' keeps the variance forward, 'fan_out' backward.

    >>> import adjoint as torch
    >>> torch.nn.init.kaiming_normal_(torch.empty(2, 4), nonlinearity="relu").shape
    torch.Size([2, 4])
    """
    if _warn_of_no_elements(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Fills with a matrix whose rows or columns are orthonormal (Saxe et al., 2013).

    - gain: a factor.

    >>> import adjoint as torch
    >>> q = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(q @ q.T, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        flat = _C.empty((rows, columns), dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
        if rows < columns:
            flat = flat.t()
        q, r = _C.op_object("linalg_qr")(flat)
        q = q * r.diagonal().sign()  # makes the distribution uniform
        if rows < columns:
            q = q.t()
        return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fills a matrix normally, but with a share of zeros in every column (Martens, 2010).

    - sparsity: the share of zeros in each column.
    - std: of the others.

    >>> import adjoint as torch
    >>> int((torch.nn.init.sparse_(torch.empty(4, 3), 0.5) == 0).sum())
    6
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[_C.randperm(rows)[:zeros], column] = 0
    return tensor


def uniform_fan_in_(bias, weight):
    """Fills a bias, unless it is None, uniformly from within 1 / sqrt(fan in of the weight): the layers' default."""
    if bias is not None:
        fan_in, _ = _calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        uniform_(bias, -bound, bound)


def _name_of_old(function):
    name = function.__name__

    def deprecated(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = name[:-1]
    example = function.__doc__[function.__doc__.index(">>>") :]
    deprecated.__doc__ = f"The old name of {name}(), which warns.\n\n    {example}"
    return deprecated


for _name in _NAMES:
    globals()[_name[:-1]] = _name_of_old(globals()[_name])

_say_what_is_absent(__name__)
