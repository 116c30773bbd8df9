"""Pruning: masks that hold elements of a parameter at zero, by size, at random, or as given."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from numbers import Integral, Real

from ... import _C


class BasePruningMethod(ABC):
    """What all methods share: a hook that multiplies `<name>_orig` by `<name>_mask` before every call.

    A subclass says in `PRUNING_TYPE` whether it works on single elements ("unstructured"), on slices along `dim`
    ("structured") or on whatever it likes ("global"), and makes the mask in `compute_mask`.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils import prune
    >>> class EveryOther(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = torch.nn.Linear(4, 1)
    >>> _ = EveryOther.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """

    _tensor_name: str

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for a tensor, on top of another mask."""

    def apply_mask(self, module):
        """The parameter of a module with its mask applied."""
        name = self._tensor_name
        mask = getattr(module, name + "_mask")
        original = getattr(module, name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter of a module; one that is pruned already, among what is left of it."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        key, earlier = _method_of(module, name)
        current = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != current.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {current.shape}"
            )
        scores = current if importance_scores is None else importance_scores
        if earlier is None:
            mask = method.compute_mask(scores, _ones_like(current))
            del module._parameters[name]
            module.register_parameter(name + "_orig", current)
        else:
            before = getattr(module, name + "_mask").detach().clone()
            method = _joined(earlier, method)
            mask = method.compute_mask(scores, before)
            del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A tensor pruned, without a module."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, _ones_like(t) if default_mask is None else default_mask)

    def remove(self, module):
        """Makes the pruned parameter an ordinary one; what is zero stays zero until it is trained."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other: the last works on what those before it have left.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils import prune
    >>> layer = prune.l1_unstructured(torch.nn.Linear(2, 2), "weight", 1)
    >>> layer = prune.l1_unstructured(layer, "weight", 1)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """

    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1 and isinstance(args[0], BasePruningMethod):
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Adds a method, to be the next."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask of the last method, on those elements or slices that the mask so far has left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kind = method.PRUNING_TYPE
        if kind == "unstructured":
            left = mask == 1
        elif kind == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            dim = method.dim % t.dim()
            kept = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            left = tuple(kept if d == dim else slice(None) for d in range(t.dim()))
        elif kind == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        mask = mask.clone()
        mask[left] = method.compute_mask(t[left], mask[left]).to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """A mask of ones.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.Identity().prune(torch.ones(2))
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        """The mask as it was."""
        return default_mask


class _Elements(BasePruningMethod):
    """Prunes a number or a share of single elements; a subclass chooses them."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        """The mask without the elements chosen."""
        count = _counted(self.amount, t.nelement())
        mask = default_mask.clone()
        if count != 0:
            mask.view(-1)[self._chosen(t, count)] = 0
        return mask


class RandomUnstructured(_Elements):
    """Prunes elements at random.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.RandomUnstructured(amount=2).prune(torch.ones(5)).sum()
    tensor(3.)
    """

    def _chosen(self, t, count):
        return _C.rand_like(t).view(-1).topk(count).indices


class L1Unstructured(_Elements):
    """Prunes the elements that are nearest to zero.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.L1Unstructured(amount=1).prune(torch.tensor([1.0, -3.0, 2.0]))
    tensor([ 0., -3.,  2.])
    """

    def _chosen(self, t, count):
        return t.abs().view(-1).topk(count, largest=False).indices


class _Slices(BasePruningMethod):
    """Prunes a number or a share of the slices along a dimension; a subclass chooses those that stay."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t, default_mask):
        """The mask without the slices chosen."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = _counted(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        kept = self._kept(t, count)
        mask = _C.zeros_like(t)
        mask[tuple(kept if d == self.dim % t.dim() else slice(None) for d in range(t.dim()))] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Slices):
    """Prunes slices at random.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.RandomStructured(amount=1, dim=0).prune(torch.ones(3, 2)).sum()
    tensor(4.)
    """

    def _kept(self, t, count):
        chances = _C.rand(t.shape[self.dim], device=t.device)
        return chances > chances.kthvalue(count).values


class LnStructured(_Slices):
    """Prunes the slices that have the least norm.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.LnStructured(1, n=2, dim=1).prune(torch.tensor([[1.0, 4.0], [2.0, 3.0]]))
    tensor([[0., 4.],
            [0., 3.]])
    """

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t, count):
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return t.norm(p=self.n, dim=others).topk(t.shape[self.dim] - count).indices


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.CustomFromMask(torch.tensor([1, 0])).prune(torch.ones(2))
    tensor([1., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        """The mask that was given, where that before it lets through."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    """Applies a mask of ones to a parameter of a module, which it changes and returns.

    >>> import adjoint as torch
    >>> list(torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "bias").state_dict())
    ['weight', 'bias_orig', 'bias_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes a number, or a share, of the elements of a parameter at random.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 2), "weight", 3).weight_mask.sum()
    tensor(1.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes a number, or a share, of the elements that are nearest to zero, or of the least importance.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 2), "weight", 0.5).weight_mask.sum()
    tensor(2.)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes a number, or a share, of the slices along a dimension at random.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.random_structured(torch.nn.Linear(2, 3), "weight", 1, dim=0).weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes a number, or a share, of the slices along a dimension that have the least n-norm.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.ln_structured(torch.nn.Linear(2, 3), "weight", 1, n=2, dim=0).weight_mask.sum()
    tensor(4.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes several (module, name) at once, as if their elements were those of one tensor.

    >>> import adjoint as torch
    >>> from adjoint.nn.utils import prune
    >>> a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=3)
    >>> (a.weight_mask.sum() + b.weight_mask.sum()).item()
    5.0
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in parameters):
        raise TypeError("global_unstructured(): expected pairs (module, name of a parameter)")
    scores = importance_scores or {}
    flat_scores = [scores.get((module, name), getattr(module, name)).reshape(-1) for module, name in parameters]
    masks = [getattr(module, name + "_mask", _ones_like(getattr(module, name))) for module, name in parameters]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    join = _C.op_object("cat")
    mask = PruningContainer(method).compute_mask(join(flat_scores), join([mask.reshape(-1) for mask in masks]))
    sizes = [getattr(module, name).numel() for module, name in parameters]
    for (module, name), part in zip(parameters, mask.split(sizes), strict=True):
        custom_from_mask(module, name, mask=part.view_as(getattr(module, name)))


def custom_from_mask(module, name, mask):
    """Prunes a parameter by a mask.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(3, 1), "weight", torch.tensor([[1, 0, 1]]))
    >>> layer.weight[0, 1].item()
    0.0
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name):
    """Makes a pruned parameter an ordinary one, with zeros where it was pruned.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 2), "weight", 1)
    >>> list(torch.nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    key, method = _method_of(module, name)
    if method is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    method.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module):
    """Whether a parameter of the module, or of one below it, is pruned.

    >>> import adjoint as torch
    >>> torch.nn.utils.prune.is_pruned(torch.nn.Linear(2, 2))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values()
    )


def _ones_like(tensor):
    return _C.ones_like(tensor, requires_grad=False)


def _method_of(module, name):
    """(key, hook) of the method that prunes a parameter; (None, None) where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


def _joined(earlier, method):
    container = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
    container.add_pruning_method(method)
    return container


def _check_amount(amount):
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, Integral) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _counted(amount, size):
    """How many to prune of `size`: a number, or a share."""
    if not isinstance(amount, Integral):
        return round(amount * size)
    if amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return amount
