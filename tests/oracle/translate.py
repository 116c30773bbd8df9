"""torch's values as Adjoint's: tensors with their memory layout, types, and functions that are written with torch."""

import dataclasses
import functools
import random
import types

import numpy as np
import torch

import adjoint

NAMED = torch.dtype | torch.layout | torch.memory_format
PLAIN = bool | int | float | complex | str | bytes | slice | range | type(None) | type(Ellipsis) | np.generic
TESTING = "torch.testing._"


class Untranslatable(Exception):
    """A value, type or function that Adjoint has no counterpart of."""


def counterpart(path):
    """Adjoint's object of this dotted name below `torch`."""
    found = adjoint
    for part in path.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise Untranslatable(f"missing name: {path}")
    return found


def tensor(source, memories=None):
    """A leaf with the same values, strides and offset in memory of its own; conjugation is made explicit.

    `memories`: those of earlier tensors by place and type; what shares memory in torch shares it again.
    """
    if source.layout is not torch.strided:
        return sparse_tensor(source)
    dtype = getattr(adjoint, str(source.dtype).removeprefix("torch."), None)
    if dtype is None:
        raise Untranslatable(f"missing dtype: {source.dtype}")
    if source.device.type == "meta":
        return adjoint.empty_strided(tuple(source.shape), source.stride(), dtype=dtype, device="meta")
    if source.device.type != "cpu":
        raise Untranslatable(f"device {source.device}")
    plain = source.detach().resolve_conj().resolve_neg()
    memory = torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage())
    place = (memory.data_ptr(), memory.dtype)
    if memories is not None and place in memories:
        return memories[place][1].as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset())
    if plain.dtype in (torch.bfloat16, torch.complex32) or "float8" in str(plain.dtype):  # NumPy has no such types
        result = adjoint.from_numpy(memory.view(torch.uint8).numpy().copy()).view(dtype)
    else:
        result = adjoint.from_numpy(memory.numpy().copy())
    if memories is not None and memory.numel() and not source.requires_grad:
        memories[place] = (memory, result)  # the source's memory is kept: a place is only good while it lives
    packed = plain.is_contiguous() and plain.storage_offset() == 0 and plain.numel() == memory.numel()
    shape = tuple(plain.shape)
    result = result.reshape(shape) if packed else result.as_strided(shape, plain.stride(), plain.storage_offset())
    return result.requires_grad_() if source.requires_grad else result


def sparse_tensor(source):
    """A sparse leaf of the same parts."""
    plain = source.detach()
    if source.layout is torch.sparse_coo:
        indices, values = tensor(plain._indices()), tensor(plain._values())
        result = adjoint.sparse_coo_tensor(indices, values, tuple(plain.shape), is_coalesced=plain.is_coalesced())
    else:
        rows = source.layout in (torch.sparse_csr, torch.sparse_bsr)
        names = ("crow_indices", "col_indices") if rows else ("ccol_indices", "row_indices")
        parts = [tensor(getattr(plain, name)()) for name in (*names, "values")]
        layout = counterpart(str(source.layout).removeprefix("torch."))
        result = adjoint.sparse_compressed_tensor(*parts, tuple(plain.shape), layout=layout)
    return result.requires_grad_() if source.requires_grad else result


class Translator:
    """Translates the values of one call; what appears twice is translated once."""

    def __init__(self):
        self.done = {}
        self.memories = {}

    def __call__(self, value):
        if isinstance(value, PLAIN) and not isinstance(value, type):
            return value
        # The source is kept with its translation: an id is only good while its object lives.
        if id(value) not in self.done:
            self.done[id(value)] = (value, self.translate(value))
        return self.done[id(value)][1]

    def translate(self, value):
        if isinstance(value, torch.Tensor):
            return tensor(value, None if value.requires_grad else self.memories)
        if isinstance(value, torch.Size):
            return adjoint.Size(value)
        if isinstance(value, list | tuple | set):
            return type(value)([self(item) for item in value])
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, NAMED):
            return counterpart(str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return adjoint.device(str(value))
        if type(value).__name__ in ("_ScalingType", "_SwizzleType"):
            return value.value  # of scaled products
        if isinstance(value, torch.Generator):
            generator = adjoint.Generator()
            generator.set_state(adjoint.from_numpy(value.get_state().numpy()))
            return generator
        if isinstance(value, functools.partial):
            return functools.partial(self(value.func), *self(value.args), **self(value.keywords))
        if isinstance(value, types.FunctionType) and value.__module__.startswith(TESTING):
            return self.function(value)
        if value is torch:
            return adjoint
        if isinstance(value, torch.nn.Module):
            return counterpart("nn." + type(value).__name__)()
        if type(value).__module__.startswith(TESTING) and callable(value):
            return value  # an entry of the database, which a helper looks something up in
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            named = {field.name: self(getattr(value, field.name)) for field in dataclasses.fields(value)}
            return counterpart("nn." + type(value).__name__)(**named)
        name = getattr(value, "__name__", None)
        if isinstance(value, type) and value.__module__ == "builtins":
            return value
        if callable(value) and name and (getattr(value, "__module__", None) or "torch").startswith("torch"):
            return counterpart(public_name(value))
        if isinstance(value, type | types.ModuleType | np.ndarray | random.Random) or callable(value):
            return value
        raise Untranslatable(f"a value of type {type(value).__name__}")

    def function(self, source):
        """The same code with Adjoint where its module says `torch`; the functions that it calls likewise."""
        scope = dict(source.__globals__, torch=adjoint)
        result = types.FunctionType(source.__code__, scope, source.__name__, None, source.__closure__)
        self.done[id(source)] = (source, result)
        for name in names_used(source.__code__):
            helper = scope.get(name)
            if name in HELPERS:
                scope[name] = HELPERS[name]
            elif isinstance(helper, types.FunctionType) and helper.__module__.startswith(TESTING):
                scope[name] = self(helper)
        cells = tuple(types.CellType(self(cell.cell_contents)) for cell in source.__closure__ or ())
        result = types.FunctionType(source.__code__, scope, source.__name__, self(source.__defaults__), cells)
        result.__kwdefaults__ = self(source.__kwdefaults__)
        return result


def names_used(code):
    """Names that a function and the functions inside it look up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_used(constant)
    return names


class KeptRandomState:
    """Adjoint's random numbers go on after the block as if it had not been."""

    def __enter__(self):
        self.state = adjoint.get_rng_state()

    def __exit__(self, *exception):
        adjoint.set_rng_state(self.state)


# Helpers of the database that reach for torch's own machinery.
HELPERS = {"freeze_rng_state": KeptRandomState}

NAMESPACES = {
    "": torch,
    "nn.functional.": torch.nn.functional,
    "linalg.": torch.linalg,
    "fft.": torch.fft,
    "special.": torch.special,
    "Tensor.": torch.Tensor,
}


def public_name(function):
    """Where torch publishes a function, by its own name: that of linalg.lu is "linalg_lu"."""
    for prefix, namespace in NAMESPACES.items():
        name = function.__name__.removeprefix(prefix.replace(".", "_"))
        if getattr(namespace, name, None) is function:
            return prefix + name
    raise Untranslatable(f"no public name of {function.__name__}")
