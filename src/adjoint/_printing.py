"""How a tensor looks as text: `repr`, `format`, and the print options behind them.

The text is torch's, to the byte. A tensor above `threshold` elements is read only at its edges, so printing it is as
cheap as printing a small one.
"""

import math
import operator
import sys
from collections import namedtuple
from contextlib import contextmanager

from . import _C, _running

_Options = namedtuple("_Options", "precision threshold edgeitems linewidth sci_mode", defaults=(4, 1000, 3, 80, None))
_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}
_options = _Options()


def _count(name, value):
    """`value` as an int of at least 0."""
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(f"set_printoptions: {name} must be an integer >= 0; got {value!r}")
    return count


def _limit(name, value):
    """`value` as a number; infinity is allowed and means no limit."""
    try:
        limit = float(value)
    except (TypeError, ValueError):
        limit = math.nan
    if math.isnan(limit):
        raise ValueError(f"set_printoptions: {name} must be a number (math.inf for no limit); got {value!r}")
    return value


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set how tensors are printed; what is not given keeps its value, except `sci_mode`, which returns to automatic.

    precision: digits after the point. threshold: more elements than this are summarised. edgeitems: elements kept
    at each end of a summarised dimension. linewidth: characters a line. sci_mode: True or False to force scientific
    notation on or off. profile: "default", "short" or "full", taken first and then changed by the other arguments.

    >>> import adjoint as torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3])
    tensor([0.33])
    >>> torch.set_printoptions(profile="default")
    """
    global _options
    if profile is not None and profile not in list(_PROFILES):
        raise ValueError(f'set_printoptions: profile must be "default", "short" or "full"; got {profile!r}')
    chosen = {"sci_mode": sci_mode}
    if precision is not None:
        chosen["precision"] = _count("precision", precision)
    if threshold is not None:
        chosen["threshold"] = _limit("threshold", threshold)
    if edgeitems is not None:
        chosen["edgeitems"] = _count("edgeitems", edgeitems)
    if linewidth is not None:
        chosen["linewidth"] = _limit("linewidth", linewidth)
    _options = (_options if profile is None else _PROFILES[profile])._replace(**chosen)


def get_printoptions():
    """The current print options, as a dict that `set_printoptions(**options)` accepts.

    >>> import adjoint as torch
    >>> torch.get_printoptions()["precision"]
    4
    """
    return _options._asdict()


@contextmanager
def printoptions(**options):
    """Print with these options (those of `set_printoptions`) inside the `with` block.

    >>> import adjoint as torch
    >>> with torch.printoptions(precision=2):
    ...     print(torch.tensor([1 / 3]))
    tensor([0.33])
    """
    global _options
    before = _options
    set_printoptions(**options)
    try:
        yield
    finally:
        _options = before


def _read(tensor, edge):
    """The elements as nested lists; dimensions longer than 2 * edge keep `edge` items at each end of an Ellipsis."""
    sizes = tensor.shape
    if all(size <= 2 * edge for size in sizes):
        return tensor.tolist()
    size = sizes[0]
    if len(sizes) == 1:
        return [*tensor[:edge].tolist(), ..., *tensor[size - edge :].tolist()]
    if size <= 2 * edge:
        return [_read(tensor[i], edge) for i in range(size)]
    head = [_read(tensor[i], edge) for i in range(edge)]
    tail = [_read(tensor[i], edge) for i in range(size - edge, size)]
    return [*head, ..., *tail]


def _flatten(data):
    if not isinstance(data, list):
        return [data]
    return [value for item in data if item is not ... for value in _flatten(item)]


def _plain_style(values):
    """(show, width) for integers and booleans."""
    return str, max(map(len, map(str, values)))


def _float_style(values, options):
    """(show, width) for floats: one notation for all, chosen from the finite nonzero ones."""
    telling = [value for value in values if value and math.isfinite(value)]
    whole = all(value.is_integer() for value in telling)
    digits = options.precision

    def show_whole(value):
        return f"{value:.0f}." if math.isfinite(value) else str(value)

    if not telling:
        return show_whole, 1
    scientific = options.sci_mode
    if scientific is None:
        largest = max(map(abs, telling))
        smallest = min(map(abs, telling))
        scientific = largest / smallest > 1000.0 or largest > 1.0e8 or (not whole and smallest < 1.0e-4)
    if scientific:
        show = f"{{:.{digits}e}}".format
    elif whole:
        show = show_whole
    else:
        show = f"{{:.{digits}f}}".format
    return show, max(map(len, map(show, telling)))


def _complex_style(values, options):
    """(show, width) for complex numbers: each part has its own notation, only the real part is aligned."""
    show_real, real_width = _float_style([value.real for value in values], options)
    show_imag, imag_width = _float_style([value.imag for value in values], options)

    def show(value):
        imag = show_imag(value.imag)
        sign = "" if imag.startswith("-") else "+"
        return f"{show_real(value.real):>{real_width}}{sign}{imag}j"

    return show, real_width + imag_width + 1


def _style(tensor, values, options):
    if tensor.is_complex():
        return _complex_style(values, options)
    if tensor.dtype is _C.float8_e8m0fnu:  # which has no zero: its least number counts as one
        return _float_style([0.0 if value == 2.0**-127 else value for value in values], options)
    if tensor.is_floating_point():
        return _float_style(values, options)
    return _plain_style(values)


def _layout(data, dim, indent, cell, width, linewidth):
    """Nested lists as bracketed text whose first bracket stands in column `indent`."""
    if dim == 0:
        return cell(data)
    if dim == 1:
        cells = [" ..." if value is ... else cell(value) for value in data]
        per_line = max(1, (linewidth - indent) // (width + 2))
        blocks = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    else:
        blocks = ["..." if item is ... else _layout(item, dim - 1, indent + 1, cell, width, linewidth) for item in data]
    separator = "," + "\n" * max(1, dim - 1) + " " * (indent + 1)
    return "[" + separator.join(blocks) + "]"


def _elements(tensor, indent, options, linewidth):
    """The bracketed elements of a tensor that has some."""
    summarise = tensor.dim() > 0 and tensor.numel() > options.threshold
    if summarise and options.edgeitems == 0:
        return "[...]"
    data = _read(tensor, options.edgeitems) if summarise else tensor.tolist()
    show, width = _style(tensor, _flatten(data), options)
    # A complex cell is aligned by its real part alone.
    cell = show if tensor.is_complex() else lambda value: show(value).rjust(width)
    return _layout(data, tensor.dim(), indent, cell, width, linewidth)


def _dtype_name(dtype):
    return str(dtype).rpartition(".")[2]


def _familiar_dtypes(holds_values):
    """The names of the dtypes that go without saying: those the elements themselves show."""
    import adjoint

    default = _dtype_name(adjoint.get_default_dtype())
    if not holds_values:
        return {default}
    return {default, "complex128" if default == "float64" else "complex64", "int64", "bool"}


def _history(tensor):
    """The suffix that tells how the tensor takes part in autograd, or None."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        # A view whose history an in-place operation has made unusable can still be looked at.
        return "grad_fn=<Invalid>"
    if node is not None:
        return f"grad_fn=<{node.name().rpartition('::')[2]}>"
    return "requires_grad=True" if tensor.requires_grad else None


def _class_name(tensor):
    """What stands before the parenthesis, and whether the tensor is a parameter."""
    import adjoint

    kind = type(tensor)
    if kind is adjoint.Tensor:
        return "tensor", False
    parameter = adjoint.nn.Parameter
    return "tensor" if kind is parameter else kind.__name__, issubclass(kind, parameter)


def _suffixes(tensor, options, holds_values):
    """What is told after the elements, in torch's order."""
    on_meta = tensor.device.type == "meta"
    if tensor.device.type != "cpu":
        yield f"device='{tensor.device}'"
    if tensor.layout is not _C.strided:
        yield f"size={tuple(tensor.shape)}"
        yield f"nnz={tensor._nnz()}"
        holds_values = True
    elif on_meta or (options.edgeitems == 0 if holds_values else tensor.dim() != 1):
        yield f"size={tuple(tensor.shape)}"
    dtype = _dtype_name(tensor.dtype)
    if dtype not in _familiar_dtypes(holds_values):
        yield f"dtype=torch.{dtype}"
    if tensor.layout is not _C.strided:
        yield f"layout={tensor.layout}"
    history = _history(tensor)
    if history:
        yield history
    forward_ad = sys.modules.get("adjoint.autograd.forward_ad")
    if forward_ad is not None and (tangent := forward_ad.unpack_dual(tensor).tangent) is not None:
        yield f"tangent={tangent}"


def _wrapped(name, number, text):
    """The text of a tensor inside of a transform of functions, given that of what it stands for."""
    shown = "\n".join(line and f"    {line}" for line in text.split("\n"))
    dim = ", bdim=0" if name == "BatchedTensor" else ""
    return f"{name}(lvl={number}{dim}, value=\n{shown}\n)"


def _batched(value):
    """The text of a tensor of a vmap that has ended, or is none of a function's."""
    depth, inner = 1, value
    while (held := _C._batch_level(inner)) is not None:
        depth, inner = depth + 1, held[1]
    return _wrapped("BatchedTensor", depth, _plain_repr(value))


def tensor_repr(tensor, *, tensor_contents=None):
    """The text of `repr(tensor)`; a subclass may give the text of its values itself."""
    if tensor_contents is not None or not _running.levels():
        return _plain_repr(tensor, tensor_contents)
    layers, tensor = _running.unwrapped(tensor)
    text = _plain_repr(tensor)
    for name, number in reversed(layers):
        text = _wrapped(name, number, text)
    return text


def _plain_repr(tensor, contents=None):
    if contents is None and _C._is_wrapped(tensor):
        return f"{type(tensor).__name__}(..., size={tuple(tensor.shape)}, dtype={tensor.dtype})"
    if (held := _C._batch_level(tensor)) is not None:
        return _plain_repr(held[1]) if held[2] else _batched(held[1])
    options = _options
    linewidth = int(min(max(options.linewidth, 0), sys.maxsize))
    sparse = tensor.layout is not _C.strided
    name, is_parameter = _class_name(tensor)
    indent = len(name) + 1

    holds_values = contents is not None
    if holds_values:
        elements = contents
    elif sparse:
        from .sparse import _printing as parts

        elements = parts.contents(tensor, indent, options, linewidth)
    elif tensor.device.type == "meta":
        elements = "..."
    elif tensor.numel() == 0:
        elements = "[]"
    else:
        holds_values = True
        elements = _elements(tensor.detach(), indent, options, linewidth)

    text = f"{name}({elements}"
    # torch counts two columns more than the last line of elements has, so a suffix moves down that much sooner.
    column = len(text) - (text.rfind("\n") + 1) + 2
    new_line = tensor.layout is _C.sparse_coo  # begins with what follows the parts
    for suffix in _suffixes(tensor, options, holds_values):
        if new_line or column + len(suffix) + 2 > linewidth:
            new_line = False
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    text += ")"
    if not is_parameter:
        return f"Parameter({text})" if getattr(tensor, "_is_param", False) else text
    return "Parameter containing:\n" + (text if name == "tensor" else f"Parameter({text})")


def tensor_format(tensor, spec):
    """The text of `format(tensor, spec)`: a tensor without dimensions is formatted as the number it holds."""
    import adjoint

    has_number = tensor.dim() == 0 and tensor.device.type != "meta"
    if has_number and (spec or type(tensor) is adjoint.Tensor):
        return format(tensor.item(), spec)
    if spec:
        raise TypeError(
            f"unsupported format string passed to {type(tensor).__name__}.__format__; {spec!r} needs a tensor with "
            f"one number and no dimensions; got shape {tuple(tensor.shape)} on {tensor.device}; "
            "format the numbers of tensor.tolist()"
        )
    return tensor_repr(tensor)
