"""What is noted of nodes while a graph is run again: the node at work, and notes that a program makes."""

import contextlib
import copy
import functools

__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "get_current_replay_node", "has_preserved_node_meta",
    "preserve_node_meta", "reset_grad_fn_seq_nr", "set_current_meta", "set_current_replay_node", "set_grad_fn_seq_nr",
    "set_stack_trace",
]  # fmt: skip

_current: dict = {}
_replayed = None
_preserving = False


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """While this lasts, `set_current_meta` takes hold.

    >>> from adjoint.fx import traceback
    >>> with traceback.preserve_node_meta():
    ...     traceback.has_preserved_node_meta()
    True
    """
    global _preserving, _current
    before, notes = _preserving, _current
    _preserving = enable
    _current = copy.copy(notes)
    try:
        yield
    finally:
        _preserving, _current = before, notes


def has_preserved_node_meta():
    """Whether notes are kept now."""
    return _preserving


def get_current_meta():
    """The notes of the node at work."""
    return _current


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Makes a node's notes the current ones, if they are kept."""
    global _current
    if not _preserving or not node.meta:
        yield
        return
    before, _current = _current, node.meta.copy()
    try:
        yield
    finally:
        _current = before


def get_current_replay_node():
    """The node that is being run again."""
    return _replayed


@contextlib.contextmanager
def set_current_replay_node(node):
    """Says which node is being run again."""
    global _replayed
    before, _replayed = _replayed, node
    try:
        yield
    finally:
        _replayed = before


def set_stack_trace(stack):
    """Notes where in the program the current node comes from: a list of lines."""
    if _preserving and stack:
        _current["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr):
    """Notes the number of a node of the tape."""
    if _preserving:
        _current["grad_fn_seq_nr"] = [*_current.get("grad_fn_seq_nr", []), seq_nr]
        _current["in_grad_fn"] = _current.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr():
    """Takes back the last number."""
    if _preserving and _current.get("in_grad_fn", 0) > 0:
        _current["in_grad_fn"] -= 1
        _current["grad_fn_seq_nr"] = _current["grad_fn_seq_nr"][:-1]


def format_stack():
    """Where in the program we are: a list of lines."""
    import traceback

    if _preserving:
        return [_current.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def annotate(annotation_dict):
    """Adds to the "custom" notes of what is recorded while this lasts.

    >>> from adjoint.fx import traceback
    >>> with traceback.annotate({"stage": 1}):
    ...     traceback.get_current_meta()["custom"]
    {'stage': 1}
    """
    global _current
    before = _current
    _current = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        _current = before


def annotate_fn(annotation_dict):
    """`annotate` as a decorator of a function."""

    def decorate(function):
        @functools.wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate
