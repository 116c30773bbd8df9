"""A module called with other tensors in the place of its parameters and buffers."""

import contextlib
import warnings

from ... import _C

__all__ = ["functional_call"]

_NOTHING = object()


def _place(module, path):
    """(table, name) in which the parameter, buffer or other attribute of a path is kept."""
    owner, _, name = path.rpartition(".")
    module = module.get_submodule(owner)
    for table in (module._parameters, module._buffers):
        if name in table:
            return table, name
    return module.__dict__, name


def _find_members(module, prefix, found):
    """Adds path: (table, name) of each parameter and buffer; a module that is there twice is found twice."""
    for table in (module._parameters, module._buffers):
        for name, value in table.items():
            if value is not None:
                found[prefix + name] = (table, name)
    for name, part in module._modules.items():
        if part is not None:
            _find_members(part, f"{prefix}{name}.", found)
    return found


def _with_tied(tensors, members):
    """The tensors by path, and under all the other paths of the parameters they stand for."""
    if len({id(table[name]) for table, name in members.values()}) == len(members):
        return tensors
    groups: dict = {}
    for path, (table, name) in members.items():
        groups.setdefault(id(table[name]), []).append(path)
    full = dict(tensors)
    for paths in groups.values():
        given = [path for path in paths if path in tensors]
        if len({id(tensors[path]) for path in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. Consider using "
                "tie_weights=False"
            )
        if given:
            full.update(dict.fromkeys(paths, tensors[given[0]]))
    return full


def _check_names(module, tensors, known):
    unexpected = [name for name in tensors if name not in known]
    missing = [name for name in known if name not in tensors]
    errors = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if errors:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(errors))


def _merged(dicts):
    """One dict of several."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, (list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    merged: dict = {}
    for part in dicts:
        if not isinstance(part, dict):
            raise ValueError(f"Expected all elements of parameter_and_buffer_dicts to be dictionaries; got {part!r}")
        if repeated := sorted(merged.keys() & part.keys()):
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        merged.update(part)
    return merged


def _exchanged(module, given, tie_weights, strict):
    """Puts tensors in their places; returns the places by path, and what was in them."""
    members = _find_members(module, "", {})
    full = _with_tied(given, members) if tie_weights else given
    if strict:
        _check_names(module, full, members)
    places = {}
    for path, value in full.items():
        if value is not None and not isinstance(value, _C.Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
        places[path] = members.get(path) or _place(module, path)
    before = [(table, name, table.get(name, _NOTHING)) for table, name in places.values()]
    for path, (table, name) in places.items():
        table[name] = full[path]
    return places, before


def _put_back(given, places, before):
    # A call that assigns a buffer changes what was given, not the module.
    for path, (table, name) in places.items():
        if path in given and given[path] is not (value := table.get(name)):
            given[path] = value
    for table, name, value in before:
        if value is _NOTHING:
            table.pop(name, None)
        else:
            table[name] = value


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, *, tie_weights=False, strict=False, stack_weights=False):
    """A context in which a module has other tensors in the place of its parameters and buffers."""
    places, before = _exchanged(module, parameters_and_buffers, tie_weights, strict)
    try:
        yield
    finally:
        _put_back(parameters_and_buffers, places, before)


def call_with(module, tensors, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """What torch.func.functional_call does; see there."""
    given = _merged(tensors)
    places, before = _exchanged(module, given, tie_weights, strict)
    try:
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))
    finally:
        _put_back(given, places, before)


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Calls a module with other tensors for its parameters; deprecated: use torch.func.functional_call.

    >>> import adjoint as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([3.0, 4.0]))  # the name to use
    tensor([7.])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
