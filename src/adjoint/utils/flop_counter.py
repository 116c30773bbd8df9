"""FlopCounterMode: counts the floating-point operations of products and convolutions, by module and by op."""

import functools
import math
import time
import warnings
from collections import defaultdict

from .. import _C
from .._aten import packet_of as packet
from .._ops import OpOverloadPacket
from .._profile.products import Log, Modules

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict = {}
suffixes = ["", "K", "M", "B", "T"]


def get_shape(value):
    """The shape of a tensor; anything else as it is."""
    return value.shape if isinstance(value, _C.Tensor) else value


def shape_wrapper(f):
    """A formula of shapes as one that takes tensors, too."""

    @functools.wraps(f)
    def wrapped(*args, out_val=None, **kwargs):
        args = [get_shape(value) for value in args]
        if out_val is not None:
            kwargs["out_shape"] = get_shape(out_val)
        return f(*args, **kwargs)

    return wrapped


def _raw(formula):
    """A formula that takes tensors itself."""

    @functools.wraps(formula)
    def wrapped(*args, **kwargs):
        return formula(*args, **kwargs)

    wrapped._get_raw = True  # type: ignore[attr-defined]  # the mark that torch's formulas have
    return wrapped


def register_flop_formula(targets, get_raw=False):
    """Decorates a function that counts the operations of an op, or of several.

    The function gets the arguments of the op, with shapes in the place of tensors, and `out_shape`. With `get_raw` it
    gets tensors without values, and `out_val`.

    >>> import adjoint as torch
    >>> from adjoint.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @register_flop_formula(torch.ops.aten.cosh)
    ... def cosh_flop(shape, *args, out_shape=None, **kwargs):
    ...     return 10 * shape.numel()
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(2, 3).cosh()
    >>> counter.get_total_flops()
    60
    """

    def register(formula):
        kept = _raw(formula) if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got {target} which is of type "
                    f"{type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = kept
        return formula

    return register


# ---- Formulas: shapes in, a count out


@register_flop_formula(packet("mm"))
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of a matrix product.

    >>> from adjoint.utils.flop_counter import mm_flop
    >>> mm_flop((2, 3), (3, 4))
    48
    """
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@register_flop_formula(packet("addmm"))
def addmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of a matrix product with a sum: those of the product."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(packet("bmm"))
def bmm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of products of matrices, one after the other."""
    return 2 * math.prod(a_shape) * b_shape[-1]


@register_flop_formula(packet("baddbmm"))
def baddbmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of products of matrices with a sum: those of the products."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """Of a convolution: two for each element of the kernels, at each place.

    >>> from adjoint.utils.flop_counter import conv_flop_count
    >>> conv_flop_count([2, 3, 8, 8], [4, 3, 3, 3], [2, 4, 6, 6])
    15552
    """
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * math.prod(places) * math.prod(w_shape)


@register_flop_formula(packet("convolution"))
def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    """Of a call of convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(packet("convolution_backward"))
def conv_backward_flop(
    grad_out_shape,
    x_shape,
    w_shape,
    _bias,
    _stride,
    _padding,
    _dilation,
    transposed,
    _output_padding,
    _groups,
    output_mask,
    out_shape,
):
    """Of the gradients of a convolution that are asked for, as torch counts them, with no regard to groups."""

    def turned(shape):
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        moving, still = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(turned(moving), turned(still), out_shape[1], transposed=False)
    return count


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Of an attention: of its two products.

    >>> from adjoint.utils.flop_counter import sdpa_flop_count
    >>> sdpa_flop_count((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8))
    4608
    """
    scores = 2 * math.prod(query_shape) * key_shape[-2]
    return scores + 2 * math.prod(query_shape[:-1]) * key_shape[-2] * value_shape[-1]


def sdpa_flop(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Of a call of attention; see FlopCounterMode for when it is used."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape):
    """Of the gradients of an attention: the scores anew, and four products.

    >>> from adjoint.utils.flop_counter import sdpa_backward_flop_count
    >>> sdpa_backward_flop_count((2, 3, 4, 8), (2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8))
    11520
    """
    scores = 2 * math.prod(query_shape) * key_shape[-2]
    values = 2 * math.prod(query_shape[:-1]) * key_shape[-2] * value_shape[-1]
    return 3 * scores + 2 * values


def sdpa_backward_flop(grad_out_shape, query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Of a call of the backward of attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


# ---- Texts


def get_suffix_str(number):
    """The unit for a number: the largest that leaves two digits or more."""
    index = max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))
    return suffixes[index]


def convert_num_with_suffix(number, suffix):
    """A number in a unit.

    >>> from adjoint.utils.flop_counter import convert_num_with_suffix
    >>> convert_num_with_suffix(123456, "K")
    '123.456K'
    """
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num, denom):
    """A number as a share of another."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


def _table(rows):
    """Rows of three texts under their header, as wide as they need."""
    header = ("Module", "FLOP", "% Total")
    # Room for the header, as the package that torch prints tables by leaves it.
    widths = [max(len(header[i]) + 2, *(len(row[i]) for row in rows)) for i in range(3)]

    def line(cells):
        return f"{cells[0]:<{widths[0]}}  {cells[1]:>{widths[1]}}  {cells[2]:>{widths[2]}}"

    return "\n".join([line(header), line(["-" * width for width in widths]), *(line(row) for row in rows)])


def _counted(formula, call, row):
    """What a formula says of a call; one that wants tensors gets some without values."""
    if not getattr(formula, "_get_raw", False):
        return formula(*call.arguments, out_shape=call.result)
    dtype = (row.inputs or row.outputs)[0][0]

    def tensor(value):
        return _C.empty(value, dtype=dtype, device="meta") if isinstance(value, _C.Size) else value

    return formula(*(tensor(value) for value in call.arguments), out_val=tensor(call.result))


class FlopCounterMode:
    """Counts floating-point operations in a `with` block, of forward and of backward, and prints a table at its end.

    Counted are mm, addmm, bmm, baddbmm, convolutions and what calls them, as torch on the CPU counts: attention of four
    dimensions, LSTMs and bilinear layers count nothing there. `custom_mapping` gives formulas for other ops, by
    torch.ops.aten.<name>, such as `sdpa_flop` for `_scaled_dot_product_flash_attention_for_cpu`.

    - `depth`: how deep in modules the table goes;
    - `display`: whether it is printed.

    >>> import adjoint as torch
    >>> from adjoint.utils.flop_counter import FlopCounterMode
    >>> layer = torch.nn.Linear(5, 6)
    >>> with FlopCounterMode() as counter:
    ...     layer(torch.ones(4, 5)).sum().backward()
    Module          FLOP    % Total
    ------------  ------  ---------
    Linear           480    100.00%
    - aten.addmm     240     50.00%
    - aten.mm        240     50.00%
    >>> counter.get_total_flops()
    480
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth = depth
        self.display = display
        own = {
            target: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = flop_registry | own
        self._log = None  # while it is open
        self._counts = {}

    def __enter__(self):
        from ..nn.modules import module

        if self._log is not None:
            raise RuntimeError("FlopCounterMode: expected one that is not open; this one is; make another one")
        self._log, self._modules = _C._new_trace(True), Modules()
        self._hooks = (
            module.register_module_forward_pre_hook(self._enter_module),
            module.register_module_forward_hook(self._leave_module, always_call=True),
        )
        _C._open_trace(self._log)
        return self

    def __exit__(self, *_):
        _C._close_trace(self._log)
        self._counts = self.get_flop_counts()
        self._log = None
        for hook in self._hooks:
            hook.remove()
        if self.display:
            print(self.get_table(self.depth))

    def _enter_module(self, module, args):
        self._modules.enter(module, time.perf_counter_ns())

    def _leave_module(self, module, args, output):
        self._modules.leave(time.perf_counter_ns())

    @property
    def flop_counts(self):
        """The operations by module and by op, 0 for those that were not counted."""
        counts: defaultdict = defaultdict(lambda: defaultdict(int))
        for name, ops in self.get_flop_counts().items():
            counts[name].update(ops)
        return counts

    def get_total_flops(self):
        """All operations together."""
        return sum(self.get_flop_counts().get("Global", {}).values())

    def get_flop_counts(self):
        """The operations by module, "Global" for all, and by op: {"Linear": {aten.addmm: 240}}; of what was counted."""
        if self._log is None:
            return {name: dict(by_op) for name, by_op in self._counts.items()}
        counts: dict = {}
        log = Log(_C._trace_details(self._log))
        by_name = {str(target): target for target in self.flop_registry}
        for call in log.calls():
            target = by_name.get(f"aten.{call.name}")
            if target is not None:
                count = _counted(self.flop_registry[target], call, log.rows[call.number])
                forward = log.origin(call.number)
                for name in self._modules.at((forward or log.rows[call.number]).start):
                    counts.setdefault(name, defaultdict(int))[target] += count
        return {name: dict(by_op) for name, by_op in counts.items()}

    def get_table(self, depth=None):
        """The counts as a table of modules down to a depth, with their ops."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        counts = self.get_flop_counts()
        total = self.get_total_flops()
        suffix = get_suffix_str(total)

        def number(count):
            return convert_num_with_suffix(count, suffix) if suffix else str(count)

        def rows_of(name):
            ops = counts.get(name, {})
            whole = sum(ops.values())
            yield name, number(whole), convert_to_percent_str(whole, total)
            for op, count in ops.items():
                yield f"- {op}", number(count), convert_to_percent_str(count, total)

        shown = [name for name in sorted(counts) if name != "Global" and name.count(".") + 1 <= depth]
        # A module that does everything stands for the whole.
        if not any(sum(counts[name].values()) >= total for name in shown):
            shown.insert(0, "Global")
        return _table([row for name in shown for row in rows_of(name)])
