"""Tables of hooks, and the handles that refer to them weakly, against torch."""

import copy
import pickle
from collections import OrderedDict

import adjoint

from .compare import leaf, programs, raised

program, test_program = programs()


@program
def the_tables_are_ordered(L):
    x = leaf(L, 1.0)
    before = x._backward_hooks
    handle = x.register_hook(print)
    layer = L.nn.Linear(1, 1)
    tables = {name: type(value).__name__ for name, value in vars(layer).items() if name.endswith("hooks")}
    return before, type(x._backward_hooks).__name__, list(x._backward_hooks) == [handle.id], tables


@program
def tables_of_all_modules(L):
    module = L.nn.modules.module
    return {
        name: type(getattr(module, name)).__name__
        for name in dir(module)
        if name.startswith("_global_") and "hooks" in name
    }


@program
def what_a_handle_knows(L):
    layer = L.nn.Identity()
    handle = layer.register_forward_hook(print, with_kwargs=True, always_call=True)
    following = layer.register_forward_pre_hook(print)
    return (
        handle.hooks_dict_ref() is layer._forward_hooks,
        [reference() is not None for reference in handle.extra_dict_ref],
        following.id - handle.id,
        L.utils.hooks.RemovableHandle.next_id - following.id,
        len(following.extra_dict_ref),
    )


@program
def handles_do_not_hold_their_tables(L):
    handle = L.nn.Identity().register_forward_hook(print)
    gone = handle.hooks_dict_ref() is None
    handle.remove()
    return gone, handle.__getstate__()[0], raised(lambda: L.utils.hooks.RemovableHandle(3), 40)


@program
def the_state_of_a_handle(L):
    Handle = L.utils.hooks.RemovableHandle
    table, more = OrderedDict(), OrderedDict()
    handle = Handle(table, extra_dict=[more])
    table[handle.id] = more[handle.id] = 1
    twin = Handle.__new__(Handle)
    twin.__setstate__(handle.__getstate__())
    twin.remove()
    older = Handle.__new__(Handle)
    older.__setstate__((None, handle.id + 100))
    return table, more, older.hooks_dict_ref(), older.extra_dict_ref, Handle.next_id == handle.id + 101


@program
def a_handle_as_a_context(L):
    x = leaf(L, 1.0)
    with x.register_hook(lambda g: g * 10) as handle:
        (x * 1).sum().backward()
    (x * 1).sum().backward()
    return x.grad, len(x._backward_hooks), handle.remove()


@program
def hooks_in_front(L):
    layer, log = L.nn.Identity(), []
    layer.register_forward_hook(lambda *_: log.append("first"))
    layer.register_forward_hook(lambda *_: log.append("second"))
    layer.register_forward_hook(lambda *_: log.append("in front"), prepend=True)
    layer._forward_hooks.move_to_end(next(iter(layer._forward_hooks)))
    layer(L.ones(1))
    return log


def hook(module, args, output):
    return output + 1


def test_modules_keep_their_hooks_in_copies():
    layer = adjoint.nn.Identity()
    layer.handle = layer.register_forward_hook(hook)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin(adjoint.zeros(1)).item() == 1.0
        twin.handle.remove()
        assert twin(adjoint.zeros(1)).item() == 0.0
    assert layer(adjoint.zeros(1)).item() == 1.0


def test_modules_with_plain_tables_take_hooks():
    layer = adjoint.nn.Identity()
    state = {name: dict(value) if isinstance(value, OrderedDict) else value for name, value in vars(layer).items()}
    old = adjoint.nn.Identity.__new__(adjoint.nn.Identity)
    old.__setstate__(state)
    old.register_forward_hook(hook)
    assert old(adjoint.zeros(1)).item() == 1.0


def test_nodes_have_tables_that_can_be_referred_to():
    y = leaf(adjoint, 1.0) * 2
    handle = y.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
    assert handle.hooks_dict_ref() is not None
    handle.remove()
    y.sum().backward()
