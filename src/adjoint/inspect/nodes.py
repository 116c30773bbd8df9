"""The nodes of a graph in words: where they were made, what they give, and what they saved."""

import gc

from .. import _C
from .places import NOWHERE as NOWHERE
from .places import Place as Place

LEAF = "AccumulateGrad"


def roots_of(tensors, caller):
    """The nodes at which backward from these tensors (or nodes) starts."""
    many = tensors if isinstance(tensors, tuple | list) else (tensors,)
    roots = []
    for item in many:
        if isinstance(item, _C.Node):
            roots.append(item)
        elif not isinstance(item, _C.Tensor):
            raise TypeError(
                f"{caller}: expected a tensor, a node or a sequence of them; got {type(item).__name__}; "
                "pass the result of a computation, such as a loss"
            )
        elif not item.requires_grad:
            raise ValueError(
                f"{caller}: expected a tensor that requires grad; got one without a graph; it was computed from "
                "nothing that has requires_grad=True, or under no_grad(), or was detached"
            )
        else:
            roots.append(_C._gradient_edge(item)[0])
    return tuple(roots)


def place_of(node):
    """The line of Python that made a node."""
    _, file, line, function, _ = _C._describe_node(node)
    return Place(file or "", line, function or "")


def module_of(node, calls):
    """The name of the module whose forward made a node, or what its metadata says; else ""."""
    call = calls.of(node)
    return node.metadata.get("module", call.name if call else "")


def outputs_of(node):
    """[(dtype, shape) or None] of the outputs of the forward that made a node."""
    return _C._describe_node(node)[0]


def is_freed(node):
    """Whether a backward has freed the saved values of a node."""
    return _C._describe_node(node)[4]


def op_name(node):
    """The node's name as people know it: MulBackward0."""
    return type(node).__name__


def is_leaf(node):
    return op_name(node) == LEAF


def type_text(dtype, shape):
    """float32 [2, 3]"""
    return f"{str(dtype).removeprefix('torch.')} {list(shape)}"


def outputs_text(node):
    """The types and shapes of a node's outputs, in a few words."""
    texts = [type_text(*item) if item else "?" for item in outputs_of(node)]
    more = f" and {len(texts) - 2} more" if len(texts) > 3 else ""
    return ", ".join(texts[:2] if more else texts) + more


def bytes_text(count):
    """1.5 KB: bytes in a unit that reads well; exact below 1024."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("unreachable")


def saved_text(alone, shared):
    """Bytes that a node holds: alone, and together with tensors that live elsewhere."""
    parts = [bytes_text(alone)] if alone else []
    parts += [f"{bytes_text(shared)} shared"] if shared else []
    return " + ".join(parts)


def columns(rows, right=()):
    """Rows of texts, aligned; the columns numbered in `right` to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.rjust(w) if i in right else text.ljust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def saved_values(node):
    """{name: tensor} of what a node saved for its rule, tied to the graph; without what was freed or changed since."""
    found = {}
    names = [name for name in dir(node) if name.startswith("_saved_")]
    for name in names or ["saved_tensors"]:  # the latter: custom Functions
        try:
            value = getattr(node, name)
        except (RuntimeError, AttributeError):
            continue
        several = isinstance(value, tuple | list)
        for i, item in enumerate(value if several else (value,)):
            if isinstance(item, _C.Tensor) and item.device.type != "meta":
                found[name.removeprefix("_saved_") + (f"[{i}]" if several else "")] = item
    return found


def living_results():
    """The tensors that have a history, wherever they are held."""
    # Not isinstance(): proxies would answer it by running code.
    return [item for item in gc.get_objects() if issubclass(type(item), _C.Tensor) and item.grad_fn is not None]


def statistics(tensor):
    """A tensor's values in one line: type and shape, range, and how many are zero, infinite or nan."""
    text = type_text(tensor.dtype, tensor.shape)
    return f"{text}, {range_text(tensor)}"


def elements(tensor):
    """The elements of a tensor, without history; of a sparse one, those that it has."""
    tensor = tensor.detach()
    if tensor.layout == _C.strided:
        return tensor
    return (tensor.coalesce() if tensor.is_sparse else tensor).values()


def range_text(tensor):
    """A tensor's values in a few words, without its type."""
    values = elements(tensor)
    count = values.numel()
    if not count:
        return "empty"
    if values.is_complex():
        values = values.abs()
    values = values.reshape(-1).to(_C.float64)
    nan, inf, zero = (int(mask.sum()) for mask in (values.isnan(), values.isinf(), values == 0))
    rest = values[values == values]
    texts = []
    if rest.numel():
        low, high = float(rest.min()), float(rest.max())
        texts.append(f"all {low:.4g}" if low == high else f"from {low:.4g} to {high:.4g}")
        zero = zero if low != high else 0
    notes = [f"{n} {what}" for n, what in ((zero, "zero"), (inf, "infinite"), (nan, "nan")) if n]
    return ", ".join(texts + ([f"of {count} values {', '.join(notes)}"] if notes else []))
