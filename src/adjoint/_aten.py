"""The ops of the table under the names that torch's dispatcher has for them: `aten.sum.dim_IntList` for sum_dim.

What a TorchDispatchMode is told is the op that the table has called, by this name, with its arguments as torch's have
them: defaults left out at the end, options by keyword, sizes as lists. An op that torch has no name for is told in the
namespace `adjoint`.
"""

import functools

from . import _C, _ops
from .ops import language

# Ops of the table -> the name in aten, where it is another or has an overload that does not depend on the arguments.
NAMES = {
    **{name: f"{name}.Tensor" for name in ("add", "sub", "mul", "div", "index", "slice", "bucketize", "searchsorted")},
    **{f"{name}_all": f"{name}.default" for name in ("sum", "mean", "max", "min", "median", "nanmedian", "prod")},
    **{f"{name}_dim": f"{name}.dim" for name in ("mean", "max", "min", "median", "nanmedian", "squeeze")},
    **{f"{name}_dim": f"{name}.correction" for name in ("var", "std", "var_mean", "std_mean")},
    "sum_dim": "sum.dim_IntList",
    "prod_dim": "prod.dim_int",
    "count_nonzero": "count_nonzero.dim_IntList",
    "squeeze_all": "squeeze.default",
    "squeeze_dims": "squeeze.dims",
    "select": "select.int",
    "transpose": "transpose.int",
    "unbind": "unbind.int",
    "where": "where.self",
    "view_sizes": "view.default",
    "view_dtype": "view.dtype",
    "split_evenly": "split.Tensor",
    "to_dtype": "_to_copy.default",
    "to_device": "_to_copy.default",
    "linear_plain": "linear.default",
    "linear_biased": "linear.default",
    "_addmm_relu": "_addmm_activation.default",
    "vector_norm": "linalg_vector_norm.default",
    "scatter_reduce": "scatter_reduce.two",
    "_scatter_src": "scatter.src",
    "_scatter_value": "scatter.value",
    "overwrite": "fill.Scalar",
    "bernoulli_numbers": "bernoulli.float",
    "_layer_norm": "layer_norm.default",
    "_group_norm": "group_norm.default",
    "_rms_norm": "rms_norm.default",
    "_mse_loss": "mse_loss.default",
    "_huber_loss": "huber_loss.default",
    "_smooth_l1_loss": "smooth_l1_loss.default",
    "_nll_loss": "nll_loss_nd.default",
    "_binary_cross_entropy": "binary_cross_entropy.default",
    "_max_pool_values": "max_pool2d.default",
    "_avg_pool2d": "avg_pool2d.default",
    "_avg_pool3d": "avg_pool3d.default",
    "_logsumexp": "logsumexp.default",
    "_cdist": "_cdist_forward.default",
    "logsigmoid": "log_sigmoid_forward.default",
    "squared": "pow.Tensor_Scalar",
    "cubed": "pow.Tensor_Scalar",
    "rooted": "pow.Tensor_Scalar",
    "power": "pow.Tensor_Scalar",
    "clamp_between": "clamp.default",
    "clamp_below": "clamp.default",
    "clamp_above": "clamp.default",
}
# Ops with one overload for a tensor and one for a number in second place.
BY_SECOND = (
    *("eq", "ne", "lt", "le", "gt", "ge", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("rsub", "copysign", "masked_fill", "lerp"),
)
# Those of torch's that a program may ask for, beside the ones above.
OVERLOADS = {
    "add": ("Tensor", "Scalar"),
    "sub": ("Tensor", "Scalar"),
    "mul": ("Tensor", "Scalar"),
    "div": ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode"),
    "pow": ("Tensor_Tensor", "Tensor_Scalar", "Scalar"),
    "sum": ("default", "dim_IntList"),
    "mean": ("default", "dim"),
    "max": ("default", "dim", "other"),
    "min": ("default", "dim", "other"),
    "any": ("default", "dim", "dims"),
    "all": ("default", "dim", "dims"),
    "prod": ("default", "dim_int"),
    "std": ("default", "dim", "correction"),
    "var": ("default", "dim", "correction"),
    "squeeze": ("default", "dim", "dims"),
    "split": ("Tensor", "sizes"),
    "view": ("default", "dtype"),
    "select": ("int",),
    "transpose": ("int",),
    "unbind": ("int",),
    "slice": ("Tensor",),
    "index": ("Tensor",),
    "where": ("self", "ScalarOther", "ScalarSelf", "Scalar", "default"),
    "softmax": ("int",),
    "log_softmax": ("int",),
    "arange": ("default", "start", "start_step"),
    "empty": ("memory_format",),
    "to": ("dtype", "device", "other"),
    "fill": ("Scalar", "Tensor"),
    "norm": ("Scalar", "ScalarOpt_dim", "ScalarOpt_dim_dtype", "ScalarOpt_dtype"),
    "scatter": ("src", "value", "reduce", "value_reduce"),
    "clamp": ("default", "Tensor"),
    "sort": ("default", "stable"),
    "gelu": ("default",),
    **dict.fromkeys(("sym_size", "sym_stride"), ("default", "int")),
    **dict.fromkeys(BY_SECOND, ("Tensor", "Scalar")),
}
# Ops whose arguments are others in aten.
_SPELLED = {
    "squared": lambda args: ((args[0], 2), {}),
    "cubed": lambda args: ((args[0], 3), {}),
    "rooted": lambda args: ((args[0], 0.5), {}),
    "clamp_below": lambda args: ((args[0], None, args[1]), {}),
    "clamp_above": lambda args: ((args[0], args[1]), {}),
    "linear_biased": lambda args: ((args[1], args[2], args[0]), {}),
    "_softmax": lambda args: ((args[0], args[1], False), {}),
    "_log_softmax": lambda args: ((args[0], args[1], False), {}),
    "power": lambda args: (args[:2], {}),
    "to_dtype": lambda args: ((args[0],), {"dtype": args[1]}),
    "to_device": lambda args: ((args[0],), {"device": args[1]}),
}
# In aten and not under that name here: how to call it.
_CALLS = {
    "_to_copy": lambda x, *, dtype=None, device=None, memory_format=None, **_: x.to(
        device or x.device, dtype or x.dtype
    ),
    "linalg_vector_norm": lambda *args, **kwargs: _C.op_object("vector_norm")(*args, **kwargs),
    "_local_scalar_dense": lambda x: x.item(),
    "lift_fresh": lambda x: x,
    "lift": lambda x: x,
    "lift_fresh_copy": lambda x: x.clone(),
    "sym_size": lambda x, dim=None: x.size() if dim is None else x.size(dim),
    "sym_stride": lambda x, dim=None: x.stride() if dim is None else x.stride(dim),
    "sym_numel": lambda x: x.numel(),
    "sym_storage_offset": lambda x: x.storage_offset(),
    "native_dropout": lambda x, p, train=True: _dropout_and_mask(x, p, train),
    "native_dropout_backward": lambda grad, mask, scale: grad * mask * scale,
    "col2im": lambda x, size, kernel, dilation, padding, stride: _functional().fold(
        x, size, kernel, dilation, padding, stride
    ),
    "im2col": lambda x, kernel, dilation, padding, stride: _functional().unfold(x, kernel, dilation, padding, stride),
    "threshold_backward": lambda grad, x, threshold: _C.op_object("where")(x <= threshold, 0, grad),
    "tanh_backward": lambda grad, output: grad * (1 - output * output.conj()),
    "sigmoid_backward": lambda grad, output: grad * (1 - output) * output,
    **{
        f"{name}_backward": lambda grad, x, *args, _name=name, **kwargs: _pulled_back(_name, grad, x, args, kwargs)
        for name in ("gelu", "silu", "mish", "hardswish", "hardsigmoid", "hardtanh", "softplus", "glu")
    },
    "_pin_memory": lambda x, device=None: x.pin_memory(),
    "nll_loss_nd": lambda *args, **kwargs: _C.op_object("_nll_loss")(*args, **kwargs),
    "log_sigmoid_forward": lambda x: _C.op_object("logsigmoid")(x),
    "slice": lambda x, dim=0, start=None, end=None, step=1: _sliced(x, dim, start, end, step),
    "index": lambda x, indices: x[tuple(slice(None) if index is None else index for index in indices)],
    "expand": lambda x, size, *, implicit=False: x.expand(size),
}


def _sliced(x, dim, start, end, step):
    if not _is_tensor(x):
        raise TypeError(f"aten::slice(): argument 'self' (position 1) must be Tensor, not {type(x).__name__}")
    if not -x.ndim <= dim < x.ndim:
        low, high = -max(x.ndim, 1), max(x.ndim, 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _functional():
    import adjoint

    return adjoint.nn.functional


def _dropout_and_mask(x, p, train):
    """What is left of a tensor, enlarged, and where."""
    if not train:
        return x.clone(), _C.op_object("ones_like")(x, dtype=_C.bool)
    mask = _C.op_object("rand_like")(x) >= p
    return x * mask / (1 - p) if p < 1 else x * 0, mask


def _pulled_back(name, grad, x, args, kwargs):
    """The gradient of an activation: aten.gelu_backward and its like."""
    from .func import vjp

    function = getattr(_functional(), name)
    return vjp(lambda value: function(value, *args, **kwargs), x)[1](grad)[0]


@functools.cache
def _views():
    """The names in aten of ops that give views."""
    table = language.TABLE.items()
    return {NAMES.get(name, name).partition(".")[0] for name, item in table if item.kind == "view"}


def is_view(name):
    """Whether the op of this name gives views: aten.view, and aten.select.

    >>> from adjoint._aten import is_view
    >>> is_view("transpose"), is_view("add")
    (True, False)
    """
    return name in _views() - {"reshape", "contiguous"}


class Call:
    """A call of the table as a dispatch mode is told of it, and how to make it."""

    def __init__(self, op, args, in_place):
        self.op, self.in_place = op, in_place
        name = op.__name__
        spell = _SPELLED.get(name)
        self._slots = spell is None
        self.args, self.kwargs = spell(args) if spell else _spelled(name, args)
        self.overload = overload_of(name, self.args, in_place)

    def __call__(self, args, kwargs):
        """Calls the op that the overload stands for, with these arguments."""
        if not self._slots:
            return self.overload._function(*args, **kwargs)
        return _C._call_slots(self.op, _slots_of(self.op.__name__, args, kwargs), self.in_place)


def overload_of(name, args, in_place=False):
    """The overload that stands for an op of the table with these arguments."""
    spelled = NAMES.get(name) or f"{name}.{_by_kind(name, args)}"
    base, _, overload = spelled.partition(".")
    suffix = "_" if in_place else ""
    space = "aten" if name in NAMES or not _is_own(base) else "adjoint"
    return getattr(getattr(_ops.namespace(space), base + suffix), overload)


def _by_kind(name, args):
    if name == "pow":
        return "Scalar" if not _is_tensor(args[0]) else "Tensor_Tensor" if _is_tensor(args[1]) else "Tensor_Scalar"
    if name in BY_SECOND:
        place = 2 if name in ("masked_fill", "lerp") else 1
        return "Tensor" if _is_tensor(args[place]) else "Scalar"
    if name == "arange":
        return ("default", "start", "start_step")[min(len(args), 3) - 1]
    return OVERLOADS.get(name, ("default",))[0]


def _is_tensor(value):
    return isinstance(value, _C.Tensor)


def _is_own(name):
    """Whether an op of the table has no public name: torch knows nothing like it."""
    return not {name, name.removesuffix("_"), f"{name}_"} & _public()


@functools.cache
def _public():
    names = {name for _, name, _ in language.PUBLIC} | {name for name, _ in language.METHODS} | set(language.COMPOSITES)
    return names | {"convolution", "_unsafe_view", "_softmax", "_log_softmax", "copy", "fill"}


# Reductions whose dim= is a list in aten.
_LISTS_OF_DIMS = ("sum_dim", "mean_dim", "var_dim", "std_dim", "var_mean_dim", "std_mean_dim", "amax", "amin")
# Options of functions that make tensors.
_OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad", "memory_format", "generator", "out")


def _spelled(name, args):
    """All arguments of an op as torch would give them: (positional, by keyword)."""
    positional, keywords = [], {}
    for (parameter, default, by_name), value in zip(_parameters(name), args, strict=True):
        if not by_name:
            positional.append((_listed(value, parameter, name in _LISTS_OF_DIMS), default))
        elif not _same(value, default):
            keywords[parameter] = value
    while positional and _same(*positional[-1]):
        positional.pop()
    if language.TABLE[name].creates:
        keywords["pin_memory"] = False
        if not args or not _is_tensor(args[0]):
            keywords["device"] = keywords.get("device") or _C.device("cpu")
    return tuple(value for value, _ in positional), keywords


def _slots_of(name, args, kwargs):
    """The arguments of an op in the order of its declaration, from those that torch would give."""
    parameters, left = _parameters(name), dict(kwargs)
    positional = [parameter for parameter, _, by_name in parameters if not by_name]
    if len(args) > len(positional):
        raise TypeError(f"{name}() takes {len(positional)} positional arguments but {len(args)} were given")
    left |= dict(zip(positional, args, strict=False))
    slots = tuple(left.pop(parameter, default) for parameter, default, _ in parameters)
    if left or any(slot is _REQUIRED for slot in slots):
        wrong = f"an unexpected keyword argument '{next(iter(left))}'" if left else "too few arguments"
        raise TypeError(f"{name}() got {wrong}")
    return slots


_REQUIRED = object()


@functools.cache
def _parameters(name):
    """(name, default, by keyword only) of the arguments that the declaration of an op has."""
    from .overrides import _declared_signature

    creates = language.TABLE[name].creates

    def by_name(item):
        return item.kind is item.KEYWORD_ONLY or (creates and item.name in _OPTIONS)

    return [
        (item.name, _REQUIRED if item.default is item.empty else item.default, by_name(item))
        for item in _declared_signature(_C.op_object(name)).parameters.values()
    ]


def _listed(value, parameter, in_list):
    """Sizes and dimensions as lists, as torch has them."""
    if parameter == "size" and isinstance(value, int):
        return [value]
    if parameter == "dim" and in_list and isinstance(value, int):
        return [value]
    return list(value) if isinstance(value, tuple) else value


def _same(value, default):
    return value is default or (type(value) is type(default) and not _is_tensor(value) and value == default)


# ---- By name


def packet_of(name):
    """The op of this name in aten."""
    return getattr(_ops.namespace("aten"), name)


def packet(space, name):
    """The op of this name, for torch.ops; None where there is none."""
    function = _function(space, name)
    if function is None:
        return None
    overloads = OVERLOADS.get(name.removesuffix("_"), ("default",))

    def make(packet, overload):
        known = overload in overloads or overload in _named_overloads().get(name.removesuffix("_"), ())
        return _ops.OpOverload(packet, overload, function) if known else None

    return _ops.OpOverloadPacket(space, name, function, make, overloads)


@functools.cache
def _named_overloads():
    found: dict = {}
    for spelled in NAMES.values():
        base, _, overload = spelled.partition(".")
        found.setdefault(base, set()).add(overload)
    return found


def _function(space, name):
    if space == "adjoint":
        return _C.op_object(name) if name.removesuffix("_") in language.TABLE else None
    if space != "aten":
        return None
    return _CALLS.get(name) or _by_use(name) or _published(name) or _part(name)


def _by_use(name):
    """A function of adjoint._by_use: a part of a layer by its name in aten."""
    from . import _by_use as parts

    found = vars(parts).get(name)
    return found if getattr(found, "__module__", None) == parts.__name__ else None


# Ops of sparse tensors for which tables of packages have an entry.
_NAMED = ("_sparse_addmm", "_sparse_mm_reduce_impl")


def _part(name):
    """What stands for an op that is computed here as a part of others: profiles and counts name it."""
    from ._profile.names import is_step

    if not is_step(name) and name not in _NAMED:
        return None

    def refuse(*_, **__):
        raise RuntimeError(
            f"aten.{name}: not an op of its own here; call the function of torch, or of torch.nn.functional"
        )

    return refuse


def _published(name):
    """A public function of this name, in the package or in one of its namespaces, a method, or an op of the table."""
    import adjoint

    for module, prefix in ((adjoint, ""), (adjoint.nn.functional, ""), (adjoint.linalg, "linalg_")):
        if name.startswith(prefix) and isinstance(vars(module).get(name.removeprefix(prefix)), _C.Op):
            return vars(module)[name.removeprefix(prefix)]
    for prefix, module in (("fft_", adjoint.fft), ("special_", adjoint.special)):
        if name.startswith(prefix) and hasattr(module, name.removeprefix(prefix)):
            return getattr(module, name.removeprefix(prefix))
    method = vars(_C.Tensor).get(name)
    if isinstance(method, _C.Op):
        return method
    known = name in language.COMPOSITES or name.removesuffix("_") in language.TABLE
    return _C.op_object(name) if known else None
