"""Levels of vmap and forward mode as context managers."""

import contextlib

from .. import _C


@contextlib.contextmanager
def batch_level(size, randomness):
    """A level of vmap; gives its number."""
    level = _C._open_batch(size, randomness)
    try:
        yield level
    finally:
        _C._close_level(level)


@contextlib.contextmanager
def forward_level():
    """A level of forward mode; gives its number."""
    level = _C._open_forward()
    try:
        yield level
    finally:
        _C._close_level(level)
