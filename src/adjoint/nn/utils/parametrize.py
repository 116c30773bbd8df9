"""Parametrizations: a parameter or buffer that is computed from others by modules whenever it is read."""

import contextlib
import copy
from collections.abc import Sequence

from ... import _C
from ...autograd.grad_mode import no_grad
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict = {}


@contextlib.contextmanager
def cached():
    """Within it, every parametrized tensor is computed once, when it is first read.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module, name, value):
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _check_same(what, before, after, words, labels):
    """Refuses a parametrization that changes the shape or the dtype."""
    if before != after:
        raise ValueError(
            f"Registering a parametrization may not change the {what} of the tensor, unless {words} flag is enabled.\n"
            f"{labels[0]}: {before}\n{labels[1]}: {after}"
        )


def _check_kind(value, words):
    if not isinstance(value, _C.Tensor):
        raise ValueError(f"{words} Got {type(value).__name__}.")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensor or tensors that the first of them begins with.

    Those are `original`, or `original0`, `original1`, ... where its right_inverse gives a sequence.

    >>> import adjoint as torch
    >>> class Double(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", Double())
    >>> torch.equal(layer.weight, 2 * layer.parametrizations.weight.original)
    True
    """

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (_C.Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, _C.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            # The tensor stays the same object: an optimizer that has it goes on training it.
            original.data = new.detach()
            _register(self, "original", original)
        else:
            self._register_several(new, original)
        if not unsafe:
            made = self()
            _check_kind(made, "A parametrization must return a tensor.")
            for what, before in (("dtype", dtype), ("shape", shape)):
                labels = (f"unparametrized {what}", f"parametrized {what}")
                _check_same(what, before, getattr(made, what), "`unsafe`", labels)

    def _register_several(self, tensors, original):
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, _C.Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            _register(self, f"original{i}", tensor.requires_grad_(original.requires_grad))

    def _originals(self):
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Gives the originals the values from which forward() computes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, _C.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                pairs = [("original", self.original, "`right_inverse`", value)]
            else:
                if not isinstance(value, Sequence):
                    raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
                if len(value) != self.ntensors:
                    raise ValueError(
                        "'right_inverse' must return a sequence of tensors of length "
                        f"{self.ntensors}. Got a sequence of length {len(value)}."
                    )
                pairs = []
                for i, (tensor, original) in enumerate(zip(value, self._originals(), strict=True)):
                    if not isinstance(tensor, _C.Tensor):
                        raise ValueError(
                            f"`right_inverse` must return a sequence of tensors. Got element {i} of type "
                            f"{type(tensor).__name__}"
                        )
                    pairs.append((f"original{i}", original, f"Tensor {i} returned by `right_inverse`", tensor))
            for name, original, whose, tensor in pairs:
                if tensor.dtype != original.dtype:
                    raise ValueError(f"{whose} has dtype {tensor.dtype} while `{name}` has dtype {original.dtype}")
                original.data = tensor.detach()

    def forward(self):
        """The tensor, computed by the parametrizations in order."""
        first, *others = self
        value = first(self.original) if self.is_tensor else first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _refuse_pickling(self):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(): save that, and load it into a "
        "module that was parametrized in the same way"
    )


def _deepcopy(self, memo):
    """As copy.deepcopy does it for other modules, which it cannot here because it would ask for the pickled state."""
    if id(self) not in memo:
        replica = type(self).__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return memo[id(self)]


def _inject_new_class(module):
    """Gives a module a class of its own, which the properties of its parametrized tensors are put into."""
    cls = type(module)
    own = {"__getstate__": _refuse_pickling}
    if not hasattr(cls, "__deepcopy__"):
        own["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), own)


def _inject_property(module, name):
    def get(self):
        if not _cache_enabled:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set))


def _check_addition(module, name, parametrization):
    """Refuses one more parametrization that changes the shape or the dtype, or whose inverse does."""
    before = getattr(module, name)
    after = parametrization(before)
    _check_kind(after, "A parametrization must return a tensor.")
    for what in ("dtype", "shape"):
        labels = (f"module.{name}.{what}", f"parametrization(module.{name}).{what}")
        _check_same(what, getattr(before, what), getattr(after, what), "the `unsafe`", labels)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    _check_kind(back, "parametrization.right_inverse must return a tensor.")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(before, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, "
                f"unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(back, what)}"
            )


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes module.<tensor_name> the result of a module applied to what it was; again adds one more on top.

    A `right_inverse` of the parametrization allows assignment. With `unsafe` shape and dtype may change.

    >>> import adjoint as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T), list(layer.state_dict())
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def is_parametrized(module, tensor_name=None):
    """Whether a tensor of the module, or any, is parametrized.

    >>> import adjoint as torch
    >>> torch.nn.utils.parametrize.is_parametrized(torch.nn.Linear(1, 1))
    False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes a tensor an ordinary one again: with its present value, or with that of the original.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        tensor = getattr(module, tensor_name)
        tensor = Parameter(tensor) if tensor.requires_grad else tensor
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class of a module without its parametrizations.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> torch.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives a module the parametrizations, and the tensors behind them, of one tensor of another or of all.

    >>> import adjoint as torch
    >>> first = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> second = torch.nn.utils.parametrize.transfer_parametrizations_and_params(first, torch.nn.Linear(2, 2))
    >>> torch.equal(first.weight, second.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    if not isinstance(from_module.parametrizations, ModuleDict):
        raise AssertionError("from_module.parametrizations must be a ModuleDict")
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        originals = ["original"] if target.is_tensor else [f"original{i}" for i in range(target.ntensors)]
        for original in originals:
            setattr(target, original, getattr(source, original))
    return to_module
