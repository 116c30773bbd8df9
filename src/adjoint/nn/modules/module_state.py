"""state_dict and load_state_dict: a module's parameters and buffers by name, out and in."""

import collections
import itertools
import warnings

from ... import _C
from ... import __future__ as _future
from ..._swapping import swap_tensors
from ...autograd.grad_mode import no_grad
from ...autograd.graph import add_hook
from ..parameter import Parameter, is_lazy

EXTRA_STATE_KEY = "_extra_state"


class _IncompatibleKeys(collections.namedtuple("_IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """What load_state_dict did not find in the dict, and what it found and has no place for."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDict:
    """The part of Module that writes and reads its state."""

    _version = 1

    # ---- Out

    def get_extra_state(self):
        """Whatever else belongs into state_dict(): to be overridden, together with set_extra_state."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: "
            "a module with extra state overrides get_extra_state and set_extra_state"
        )

    def set_extra_state(self, state):
        """Takes what get_extra_state returned: to be overridden, together with get_extra_state."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: "
            "a module with extra state overrides get_extra_state and set_extra_state"
        )

    def _has_extra_state(self, which):
        return getattr(type(self), which) is not getattr(StateDict, which)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Puts the module's own parameters and buffers, without those of submodules, into `destination`."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars or is_lazy(parameter) else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars or is_lazy(buffer) else buffer.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + EXTRA_STATE_KEY] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An ordered dict of all parameters and persistent buffers by name; they share the module's memory.

        >>> import adjoint as torch
        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to torch.nn.Module.state_dict: "
                "destination, prefix, keep_vars",
                FutureWarning,
                stacklevel=2,
            )
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        destination = given.get("destination", destination)
        prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        if destination is None:
            destination = collections.OrderedDict()
            destination._metadata = collections.OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
        return destination

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata) at the end of state_dict(); it may edit the dict."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Calls hook(module, prefix, keep_vars) at the start of state_dict()."""
        return add_hook(self._state_dict_pre_hooks, hook)

    # ---- In

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        """As register_load_state_dict_pre_hook; the hook sees the module only `with_module`."""
        return add_hook(self._load_state_dict_pre_hooks, hook, value=_WithModule(hook) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Calls hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors) before all."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Calls hook(module, incompatible_keys) after loading; it may edit the two lists in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Copies the module's own entries of the dict; what is amiss is added to the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            arguments = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
            if isinstance(hook, _WithModule):
                hook.hook(self, *arguments)
            else:
                hook(*arguments)
        buffers = ((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set)
        local = {k: v for k, v in itertools.chain(self._parameters.items(), buffers) if v is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        swap = _future.get_swap_module_params_on_conversion()
        for name, current in local.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            value = state_dict[key]
            if not isinstance(value, _C.Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(value)}"
                )
                continue
            lazy = is_lazy(current)
            if not lazy and current.ndim == 0 and value.ndim == 1 and len(value) == 1:
                value = value[0]  # numbers were once saved with one dimension
            if not lazy and value.shape != current.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                    f"the shape in current model is {current.shape}."
                )
                continue
            if current.is_meta and not value.is_meta and not assign:
                warnings.warn(
                    f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                    "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                    "dictionary to their corresponding key in the module instead of copying them in place?)",
                    stacklevel=2,
                )
            try:
                if swap:
                    _swap_in(current, value, assign)
                elif assign:
                    if isinstance(value, Parameter):
                        value.requires_grad_(current.requires_grad)
                    elif isinstance(current, Parameter):
                        value = Parameter(value, requires_grad=current.requires_grad)
                    setattr(self, name, value)
                else:
                    with no_grad():
                        current.copy_(value)
            except Exception as error:
                action = "swapping" if swap else "copying"
                error_msgs.append(
                    f'While {action} the parameter named "{key}", whose dimensions in the model are {current.shape} '
                    f"and whose dimensions in the checkpoint are {value.shape}, an exception occurred : {error.args}."
                )
        extra_key = prefix + EXTRA_STATE_KEY
        if self._has_extra_state("set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, *rest = key[len(prefix) :].split(".", 1)
                    if name not in (self._modules if rest else local):
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies parameters and buffers from a dict such as state_dict() returns.

        With `strict` the names must agree; with `assign` the dict's tensors become the module's own.

        >>> import adjoint as torch
        >>> first, second = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
        >>> second.load_state_dict(first.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, collections.abc.Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.{_meant(state_dict)}")
        for key in state_dict:
            if not isinstance(key, str):
                raise TypeError(f"Expected the keys of state_dict to be names of parameters, got {key!r}, {type(key)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = collections.OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, local, prefix):
            about = dict(metadata.get(prefix[:-1], {})) if metadata is not None else {}
            if assign:
                about["assign_to_params_buffers"] = True
            module._load_from_state_dict(local, prefix, about, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    inner = f"{prefix}{name}."
                    load(child, {k: v for k, v in local.items() if k.startswith(inner)}, inner)
            incompatible = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                        "new values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, state_dict, "")
        if strict:
            for keys, what in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    quoted = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {quoted}. ")
            if missing and unexpected and (meant := _renamed(missing, unexpected)):
                errors.append(meant)
        if errors:
            lines = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return _IncompatibleKeys(missing, unexpected)


def _meant(given):
    """What to give to load_state_dict() in the place of something that is no dict."""
    if isinstance(given, StateDict):
        return " Give its state_dict()."
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        return " Read the file first: load_state_dict(torch.load(path))."
    return ""


def _renamed(missing, unexpected):
    """Which of the unexpected names stand for missing ones: by a prefix that they share, or as the nearest."""
    import difflib

    if (prefix := _prefix(unexpected, missing)) is not None:
        cure = f'key.removeprefix("{prefix}"): value for key, value in state_dict.items()'
        return f'The state_dict has the prefix "{prefix}": give {{{cure}}}. '
    if (prefix := _prefix(missing, unexpected)) is not None:
        cure = f'"{prefix}" + key: value for key, value in state_dict.items()'
        return f'The state_dict lacks the prefix "{prefix}": give {{{cure}}}. '
    near = ((key, difflib.get_close_matches(key, unexpected, 1)) for key in missing)
    pairs = [f'"{found[0]}" for "{key}"' for key, found in near if found]
    return f"Renamed? The nearest names are {', '.join(pairs[:8])}. " if pairs else ""


def _prefix(longer, shorter):
    """What all names of a list have in front that those of another list have not; None if they differ otherwise."""
    first = min(shorter, key=len)
    prefixes = (key.removesuffix(first) for key in longer if key.endswith(f".{first}"))
    return next((prefix for prefix in prefixes if all(prefix + key in longer for key in shorter)), None)


def _swap_in(current, value, assign):
    """Makes a parameter or buffer what its module_load() makes of a value."""
    with no_grad():
        made = current.module_load(value, assign=assign)
    if made is current or made is value:
        raise RuntimeError(
            "module_load() returned one of self or other, please .detach() the result if returning one of the inputs "
            "in module_load()"
        )
    if isinstance(current, Parameter):
        if isinstance(made, Parameter):
            made.requires_grad_(current.requires_grad)
        else:
            made = Parameter(made, requires_grad=current.requires_grad)
    swap_tensors(current, made)


class _WithModule:
    """A hook that gets its module as the first argument: given by the module, which it does not hold."""

    def __init__(self, hook):
        self.hook = hook
