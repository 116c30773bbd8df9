"""rearrange: dimensions transposed, split and joined as a pattern of names says, in the notation of einops."""

import math
import re

from .. import _C
from ..ops.language import stack

_TOKEN = re.compile(r"\.\.\.|[()]|[^\s()]+")


class DimensionBindError(Exception):
    """Sizes that do not fit the names of a pattern."""


def rearrange(tensor, pattern, **axes_lengths):
    """The tensor, or several that are stacked first, with its dimensions as on the right of the pattern.

    Each name on the left stands for a dimension; names in parentheses for one that is split into them, with their sizes
    as keywords but for one at most. On the right, parentheses join dimensions. `...` stands for any number of them, and
    1 for a dimension of that size.

    >>> import adjoint as torch
    >>> images = torch.zeros(8, 4, 6, 3)
    >>> torch.func.rearrange(images, "b h w c -> b c h w").shape
    torch.Size([8, 3, 4, 6])
    >>> torch.func.rearrange(images, "b (h h1) (w w1) c -> b h w (c h1 w1)", h1=2, w1=2).shape
    torch.Size([8, 2, 3, 12])
    """
    if not isinstance(tensor, _C.Tensor):
        tensor = stack(tensor)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_groups, sides)
    _check_names(pattern, left, right, axes_lengths)
    extra = [f"...{i}" for i in range(tensor.dim() - len(left) + 1)]
    left, right = ([_spread(group, extra) for group in groups] for groups in (left, right))
    left = [group for part in left for group in part]
    right = [group for part in right for group in part]
    if len(left) != tensor.dim():
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the tensor "
            f"({tensor.dim()})"
        )
    sizes = {}
    for group, size in zip(left, tensor.shape, strict=True):
        sizes |= _sizes(group, size, axes_lengths)
    atoms = [name for group in left for name in group]
    order = [atoms.index(name) for group in right for name in group]
    parts = tensor.reshape([sizes[name] for name in atoms]).permute(order)
    return parts.reshape([math.prod(sizes[name] for name in group) for group in right])


def _groups(side):
    """The dimensions of one side of a pattern, each as the list of names that it is made of."""
    groups, joined = [], None
    if side.replace("...", "").count(".") or side.count("...") > 1:
        words = "; only one ellipsis for tensor " if side.count("...") > 1 else ""
        raise ValueError(f"Expression may contain dots only inside ellipsis (...){words}")
    for token in _TOKEN.findall(side):
        if token == "(":
            if joined is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            joined = []
        elif token == ")":
            if joined is None:
                raise ValueError("Brackets are not balanced")
            groups.append(joined)
            joined = None
        else:
            names = _names(token)
            if joined is None:
                groups.append(names)
            else:
                joined += ["(...)"] if token == "..." else names
    if joined is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    return groups


def _names(token):
    if token == "1":
        return []
    if token.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if token != "...":
        if not token.isidentifier():
            raise ValueError(f"Invalid axis identifier: {token}\nnot a valid python identifier")
        if token.strip("_") != token:
            raise ValueError(
                f"Invalid axis identifier: {token}\naxis name should should not start or end with underscore"
            )
    return [token]


def _check_names(pattern, left, right, lengths):
    sides = [[name for group in groups for name in group] for groups in (left, right)]
    if "(...)" in sides[0]:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    for names in sides:
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    before, after = ({name.strip("()") for name in names} for names in sides)
    if before != after:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {before ^ after}")
    if unknown := lengths.keys() - before:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    for length in lengths.values():
        if not isinstance(length, int):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")


def _spread(group, extra):
    """The groups that one is with the names of the dimensions that `...` stands for."""
    if group == ["..."]:
        return [[name] for name in extra]
    return [[name for one in group for name in (extra if one == "(...)" else [one])]]


def _sizes(group, size, lengths):
    """The sizes of the names that a dimension of this size is made of."""
    sizes = {name: lengths[name] for name in group if name in lengths}
    unknown = [name for name in group if name not in lengths]
    if len(unknown) > 1:
        raise DimensionBindError(f"cannot infer the sizes of two dimensions at once {unknown[0]} and {unknown[1]}")
    known = math.prod(sizes.values())
    if unknown:
        if known == 0 or size % known:
            raise DimensionBindError(
                f"inferred dimension does not evenly fit into larger dimension: {size} vs {(*sizes.values(), '?')}"
            )
        sizes[unknown[0]] = size // known
    elif known != size:
        raise DimensionBindError(
            f"Dimension sizes to do not match ({size} != {known}) when matching dimension pack {tuple(group)}"
        )
    return sizes
