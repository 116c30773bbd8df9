"""How a sparse tensor looks as text: its parts, in torch's words."""

from .. import _C, _printing


def contents(tensor, indent, options, linewidth):
    """(the text of the parts, what is told after them)."""
    detached = tensor.detach()
    parts = []
    for name, part in _C._sparse_pattern(detached).shown(_C._sparse_values(detached)):
        text = _part(part, indent + len(name) + len("=tensor("), options, linewidth)
        parts.append(f"{name}=tensor({text})")
    return (",\n" + " " * indent).join(parts)


def _part(part, indent, options, linewidth):
    if part.numel() == 0:
        return f"[], size={tuple(part.shape)}"
    return _printing._elements(part, indent, options, linewidth)
