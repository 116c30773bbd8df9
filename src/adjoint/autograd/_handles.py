"""Handles of hooks: what registering a hook returns, to take it out again."""

from _weakref import ref  # weakref's, without the rest of it
from collections import OrderedDict


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook out; also a context manager.

    It refers to the tables of hooks weakly. A copy by pickle finds its tables only if they are pickled along with it.

    >>> import adjoint as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> handle = x.register_hook(lambda g: 2 * g)
    >>> handle.remove()
    """

    __module__ = "adjoint.utils.hooks"  # where programs look for it
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.hooks_dict_ref = ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.extra_dict_ref = tuple(map(ref, extra))

    def remove(self):
        """Takes the hook out; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks, self.id, *rest = state
        # A table that was gone is one that nobody else has.
        self.hooks_dict_ref = ref(OrderedDict() if hooks is None else hooks)
        extra = rest[0] if rest else ()
        self.extra_dict_ref = tuple(ref(OrderedDict() if each is None else each) for each in extra or ())
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def add_hook(hooks, hook, prepend=False, extra=(), value=None):
    """Puts a hook into `hooks`, at its front if `prepend`. `extra`: (table, whether it notes True for the hook)."""
    handle = RemovableHandle(hooks, extra_dict=[table for table, _ in extra])
    hooks[handle.id] = hook if value is None else value
    for table, noted in extra:
        if noted:
            table[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
