"""Spectral norm by a hook: a weight divided by its greatest singular value before every call."""

from ... import _C
from ...autograd.grad_mode import no_grad
from .. import functional as F
from ..parameter import Parameter, is_lazy
from .weight_norm import found_hook


def check_iterations(count):
    """Refuses a number of power iterations below one."""
    if count <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={count}")


def usual_dim(module):
    """The dimension of the outputs: transposed convolutions have it second."""
    from ..modules.conv import _ConvTransposeNd

    return 1 if isinstance(module, _ConvTransposeNd) else 0


def as_matrix(weight, dim):
    """A weight as a matrix with a row for each index of a dimension."""
    return weight.movedim(dim, 0).flatten(1) if weight.ndim > 1 else weight.unsqueeze(1)


def random_directions(matrix, eps):
    """Vectors of length one for the rows and the columns of a matrix."""
    return [F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in matrix.shape]


class SpectralNorm:
    """The hook: recomputes the weight from `<name>_orig` and the singular vectors `<name>_u` and `<name>_v`."""

    _version = 1

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        check_iterations(n_power_iterations)
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module, do_power_iteration):
        """The weight over its greatest singular value, after a step towards the singular vectors if asked for."""
        weight, u, v = (getattr(module, self.name + part) for part in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    F.normalize(matrix.t().mv(u), dim=0, eps=self.eps, out=v)
                    F.normalize(matrix.mv(v), dim=0, eps=self.eps, out=u)
                u, v = u.clone(), v.clone()  # those of the module change at the next call, before a backward maybe
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Replaces the parameter by an original and its singular vectors, and adds the hooks."""
        if found_hook(module, SpectralNorm, name) is not None:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name] if isinstance(name, str) and name in module._parameters else None
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            u, v = random_directions(as_matrix(weight, dim), eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # not a parameter, and there for those who look before the first call
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(_StateDictHook(hook))
        return hook

    def remove(self, module):
        """Makes the weight an ordinary parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for part in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + part)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class _StateDictHook:
    """Writes the version of the hook into the metadata of state_dict()."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, module, state_dict, prefix, local_metadata):
        key = self.hook.name + ".version"
        versions = local_metadata.setdefault("spectral_norm", {})
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.hook._version


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its greatest singular value before every call; parametrizations.spectral_norm is newer.

    >>> import adjoint as torch
    >>> list(torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    SpectralNorm.apply(module, name, n_power_iterations, usual_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Takes back spectral_norm(); the weight stays as it is.

    >>> import adjoint as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2))
    >>> sorted(dict(torch.nn.utils.remove_spectral_norm(layer).named_parameters()))
    ['bias', 'weight']
    """
    key = found_hook(module, SpectralNorm, name)
    if key is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(key).remove(module)
    for other, hook in module._state_dict_hooks.items():
        if isinstance(hook, _StateDictHook) and hook.hook.name == name:
            del module._state_dict_hooks[other]
            break
    return module


def named_tensor(module, name):
    """The parameter or buffer of a name, for parametrizations that begin with it."""
    tensor = getattr(module, name, None)
    if not isinstance(tensor, _C.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor
