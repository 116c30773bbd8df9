"""Weight norm by a hook: a weight as a length and a direction, multiplied before every call."""

import warnings

from ... import _C
from ..parameter import Parameter


class WeightNorm:
    """The hook: recomputes the weight from its length `<name>_g` and its direction `<name>_v`."""

    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight that length and direction make."""
        return weight_of(getattr(module, self.name + "_g"), getattr(module, self.name + "_v"), self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Replaces the parameter by its two parts and adds the hook."""
        if found_hook(module, WeightNorm, name) is not None:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if not isinstance(weight, _C.Tensor):
            raise ValueError(f"weight_norm: expected a parameter named {name}; got {weight}")
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(length_of(weight, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Makes the weight an ordinary parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def length_of(weight, dim):
    """The lengths of the slices of a weight along a dimension, or of the whole where that is -1."""
    return _C.op_object("norm_except_dim")(weight, 2, dim)


def weight_of(length, direction, dim):
    """The weight of given lengths and directions."""
    return direction * (length / length_of(direction, dim))


def found_hook(module, kind, name):
    """The key of a module's hook of a kind for the parameter of a name; None where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key
    return None


def weight_norm(module, name="weight", dim=0):
    """Deprecated: use nn.utils.parametrizations.weight_norm.

    >>> import adjoint as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2))
    >>> {name: tuple(p.shape) for name, p in layer.named_parameters()}
    {'bias': (2,), 'weight_g': (2, 1), 'weight_v': (2, 3)}
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Takes back weight_norm(); the weight stays as it is.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils import remove_weight_norm
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
    >>> sorted(dict(remove_weight_norm(layer).named_parameters()))
    ['bias', 'weight']
    """
    key = found_hook(module, WeightNorm, name)
    if key is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(key).remove(module)
    return module
