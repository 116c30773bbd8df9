"""Every entry of the operator database has tangents and runs under vmap, with its gradients inside and outside.

So it does over batches of no elements.
"""

import pytest

from . import transforms
from .entries import entries

PARTS = 16
# What does not agree, by words of the reason.
ELSEWHERE = "last"
KNOWN = {
    # Elements that lie between those of others in memory: their strides are not those of a copy; so it is in torch.
    ("view_as_complex", "vmap"): ELSEWHERE,
    ("as_strided", "vmap"): ELSEWHERE,
    ("as_strided_copy", "vmap"): ELSEWHERE,
    ("as_strided.partial_views", "vmap"): ELSEWHERE,
    ("bincount", "empty"): "instead of",  # its size depends on values, of which there are none
    ("resize_", "empty"): "expected, got",  # of a number: what is new has no value
    ("as_strided.partial_views", "jvp"): "invalid storage offset",  # it looks at memory beside the tensor's
}


@pytest.mark.parametrize("part", range(PARTS))
def test_part(part):
    reasons = {
        (name, level): reason
        for name in list(entries())[part::PARTS]
        for level, reason in transforms.check(name, samples=2).items()
    }
    assert {key: reason for key, reason in reasons.items() if KNOWN.get(key, "?") not in reason} == {}


@pytest.mark.parametrize("part", range(PARTS))
def test_refused(part):
    """What an op refuses, its batch rule does not let pass."""
    silent = {name: found for name in list(entries())[part::PARTS] if (found := transforms.let_pass(name))}
    assert silent == {}
