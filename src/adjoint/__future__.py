"""How modules are converted: what Module.to(), double() and load_state_dict() do with the parameters that are there.

>>> import adjoint as torch
>>> torch.__future__.get_swap_module_params_on_conversion()
False
"""

_overwrite_module_params_on_conversion: bool = False
_swap_module_params_on_conversion: bool = False


def set_overwrite_module_params_on_conversion(value):
    """With True, converting a module gives it new parameters; with False the ones that it has get other values.

    >>> import adjoint as torch
    >>> torch.__future__.set_overwrite_module_params_on_conversion(False)
    """
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion():
    """Whether converting a module gives it new parameters.

    >>> import adjoint as torch
    >>> torch.__future__.get_overwrite_module_params_on_conversion()
    False
    """
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value):
    """With True, the parameters of a module that is converted or loaded become the new ones by utils.swap_tensors.

    >>> import adjoint as torch
    >>> torch.__future__.set_swap_module_params_on_conversion(False)
    """
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion():
    """Whether parameters are converted by utils.swap_tensors.

    >>> import adjoint as torch
    >>> torch.__future__.get_swap_module_params_on_conversion()
    False
    """
    return _swap_module_params_on_conversion
