"""Modules whose parameters get their shapes at the first call."""

from ... import _C
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


# Derived from the native part of Module, so that an instance of a lazy class can become one of an ordinary class.
class LazyModuleMixin(_C._ModuleBase):
    """Stands before a module class whose parameters take their shapes from the first input.

    The subclass makes UninitializedParameters in `__init__` and gives them shapes in `initialize_parameters`, which is
    called once, with the first inputs; then the module becomes an ordinary one of the class `cls_to_become`.

    >>> import adjoint as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer(torch.ones(1, 3)).shape, layer
    (torch.Size([1, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_members(self):
        """(name, tensor) of the module's own parameters and buffers that have no shape yet."""
        own = {**self._parameters, **self._buffers}
        return [(name, value) for name, value in own.items() if is_lazy(value)]

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Gives the parameters the shapes of what will be loaded into them."""
        for name, value in self._lazy_members():
            loaded = state_dict.get(prefix + name)
            if loaded is not None and not is_lazy(loaded):
                value.materialize(loaded.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Gives the parameters their shapes by the first inputs: to be overridden."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """Whether a parameter or buffer of this module has no shape yet."""
        return bool(self._lazy_members())

    def _infer_parameters(self, module, args, kwargs=None):
        """The hook before the first call: initialises, and makes the module an ordinary one."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
