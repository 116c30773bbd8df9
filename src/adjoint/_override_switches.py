"""Who may take calls over, as torch tells and sets it in its native module."""

import enum

from . import _C


class _TorchFunctionState(enum.Enum):
    """Who may take calls over: see torch.overrides."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _is_torch_function_enabled():
    """Whether types of arguments may take calls over."""
    return _C._overrides()[0]


def _is_torch_function_all_disabled():
    return not any(_C._overrides())


def _is_torch_function_mode_enabled():
    return _C._overrides()[1] and bool(_C._function_modes())


def _get_torch_function_state():
    types, modes = _C._overrides()
    if types:
        return _TorchFunctionState.ENABLED
    return _TorchFunctionState.SUBCLASSES_DISABLED if modes else _TorchFunctionState.ALL_DISABLED


def _set_torch_function_state(state):
    _C._set_overrides(state is _TorchFunctionState.ENABLED, state is not _TorchFunctionState.ALL_DISABLED)


def _len_torch_function_stack():
    return len(_C._function_modes())


def _get_function_stack_at(index):
    modes = _C._function_modes()
    if not 0 <= index < len(modes):
        raise RuntimeError(f"Tried to get stack at idx that's too big: {index} of {len(modes)} modes")
    return modes[index]


NAMES = (
    "_TorchFunctionState",
    *("_get_function_stack_at", "_get_torch_function_state", "_is_torch_function_all_disabled"),
    *("_is_torch_function_enabled", "_is_torch_function_mode_enabled", "_len_torch_function_stack"),
    "_set_torch_function_state",
)


def install():
    """Puts these where torch has them."""
    for name in NAMES:
        setattr(_C, name, globals()[name])
    _C._push_on_torch_function_stack = _C._push_function_mode
    _C._pop_torch_function_stack = _C._pop_function_mode
    _C._has_torch_function_unary = _C._has_torch_function_variadic
    _C._TensorMeta = type  # the metaclass of Tensor
