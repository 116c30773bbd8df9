"""Nested arguments taken apart along a structure that was seen when the function was traced."""

from collections import OrderedDict, namedtuple

from ..utils._pytree import TreeSpec as TreeSpec
from ..utils._pytree import tree_unflatten as tree_unflatten

SUPPORTED_NODES: dict = {}
SUPPORTED_NODES_EXACT_MATCH: dict = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """Says how values of a type are taken apart: `flatten_fn_spec(value, spec)` gives the list of its parts.

    >>> from adjoint.fx import _pytree
    >>> class Box(list):
    ...     pass
    >>> _pytree.register_pytree_flatten_spec(Box, lambda box, spec: list(box))
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(pytree, spec):
    """The leaves of nested containers, along a structure that they have at least in part.

    >>> from adjoint.fx import _pytree
    >>> from adjoint.utils._pytree import tree_structure
    >>> _pytree.tree_flatten_spec([1, {"a": 2}], tree_structure([0, {"a": 0}]))
    [1, 2]
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    found = []
    for child, child_spec in zip(SUPPORTED_NODES[spec.type](pytree, spec), spec.children(), strict=False):
        found += tree_flatten_spec(child, child_spec)
    return found


def _first(value, spec):
    return [value[index] for index in range(spec.num_children)]


def _by_key(value, spec):
    return [value[key] for key in spec.context]


register_pytree_flatten_spec(dict, _by_key, lambda d, spec: len(d) == spec.num_children)
register_pytree_flatten_spec(OrderedDict, _by_key, lambda d, spec: len(d) == spec.num_children)
for _kind in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_kind, _first, lambda value, spec: len(value) == spec.num_children)
