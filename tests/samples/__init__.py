"""Calls of every op, written once and made for both libraries from the same numbers.

    SAMPLES = {"transpose": [Sample(T(2, 3), 0, 1), Sample(T(2, 3, 4), -1, dim1=0)],
               "nn.functional.one_hot": [Sample(I(5, high=3), 4)]}
    ERRORS = {"transpose": [Sample(T(2, 3), 5, 0)]}

`T`, `I` and `B` stand for a float, an integer and a bool tensor; `ref` for a name of the library, such as a dtype.
Keys are names below the package ("nn.functional.gelu"); one that the package lacks is taken for a method of Tensor.
INSTEAD = {name: f} says what torch is asked of an op that it does not have: f(torch, *args, **kwargs).
"""

import functools
import importlib
import pkgutil
import types
import zlib

import numpy as np

LAYOUTS = ("contiguous", "transposed", "strided", "expanded")


class Placeholder:
    """A tensor to be made. `values` gives its numbers instead of chance; `dtype` its type instead of the test's."""

    kind = ""

    def __init__(self, *shape, low, high, values=None, dtype=None, grad=False):
        self.low, self.high = low, high
        self.values = None if values is None else np.asarray(values)
        self.shape = shape if values is None else self.values.shape
        self.dtype = dtype
        self.grad = grad

    def __repr__(self):
        return f"{self.kind}({', '.join(map(str, self.shape))})"

    def numbers(self, random, dtype):
        """The values as a NumPy array."""
        raise NotImplementedError

    def make(self, library, random, dtype, layout="contiguous"):
        """The tensor of one library, laid out in memory in one of LAYOUTS."""
        dtype = self.dtype or dtype
        numbers = self.numbers(random, dtype)
        if layout == "expanded" and numbers.ndim and self.values is None:
            numbers = np.broadcast_to(numbers[:1], numbers.shape) if numbers.shape[0] else numbers
        else:
            layout = "contiguous" if layout == "expanded" else layout
        tensor = arrange(library, numbers, getattr(library, dtype), layout)
        return tensor.requires_grad_() if self.grad and is_differentiable(dtype) else tensor


class T(Placeholder):
    """A tensor of the type under test, whose gradients are compared where that is a float type."""

    kind = "T"

    def __init__(self, *shape, low=-2.0, high=2.0, values=None, dtype=None, grad=True):
        super().__init__(*shape, low=low, high=high, values=values, dtype=dtype, grad=grad)

    def numbers(self, random, dtype):
        if self.values is not None:
            return self.values
        if dtype == "bool":
            return random.integers(0, 2, self.shape).astype(bool)
        if "int" in dtype:
            low = 0 if dtype == "uint8" else self.low
            return random.integers(int(np.ceil(low)), int(np.floor(max(self.high, low))) + 1, self.shape)
        numbers = random.uniform(self.low, self.high, self.shape)
        if dtype.startswith("complex"):
            return numbers + 1j * random.uniform(self.low, self.high, self.shape)
        return numbers


# One letter, beside T and B: samples are tables, and read better so.
class I(Placeholder):  # noqa: E742 - see above
    """A tensor of integers in [low, high), int64 unless told."""

    kind = "I"

    def __init__(self, *shape, low=0, high=None, values=None, dtype="int64"):
        high = max(shape, default=1) if high is None else high
        super().__init__(*shape, low=low, high=high, values=values, dtype=dtype)

    def numbers(self, random, dtype):
        if self.values is not None:
            return self.values.astype(np.int64)
        return random.integers(self.low, max(self.high, self.low + 1), self.shape)


class B(Placeholder):
    """A tensor of bools."""

    kind = "B"

    def __init__(self, *shape, values=None):
        super().__init__(*shape, low=0, high=1, values=values, dtype="bool")

    def numbers(self, random, dtype):
        return random.integers(0, 2, self.shape).astype(bool) if self.values is None else self.values


class ref:
    """A name of the library: ref("float64"), ref("contiguous_format")."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


class Sample:
    """The arguments of one call. Options, by `.options(...)`:

    dtypes      types to run it in; default float64. Second gradients are compared in float64 or complex128 only
    gradgrad    False: no second gradients
    gradcheck   False: not compared with finite differences (kinks, randomness)
    layouts     False: only contiguous tensors
    inplace     False: the in-place form is not tried
    out         False: the out= form is not tried
    edits       False: nothing is edited between forward and backward
    node        False: the name of grad_fn may differ from torch's
    tolerance   (rtol, atol) instead of those of the type
    seed        True: both libraries are seeded first
    torch       what torch is asked instead: called as f(torch, *args, **kwargs)
    compare     what is compared of the result: called as f(library, result)
    """

    DEFAULTS = types.MappingProxyType(
        {
            "dtypes": ("float64",),
            "gradgrad": True,
            "gradcheck": True,
            "layouts": True,
            "inplace": True,
            "out": True,
            "edits": True,
            "node": True,
            "tolerance": None,
            "seed": False,
            "torch": None,
            "compare": None,
        }
    )

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        for name, value in self.DEFAULTS.items():
            setattr(self, name, value)

    def options(self, **options):
        """Sets options; returns the sample."""
        for name, value in options.items():
            if name not in self.DEFAULTS:
                raise TypeError(f"Sample has no option {name!r}; there are {', '.join(self.DEFAULTS)}")
            setattr(self, name, (value,) if name == "dtypes" and isinstance(value, str) else value)
        return self

    def __repr__(self):
        parts = [repr(value) for value in self.args] + [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return ", ".join(parts)

    @property
    def precise(self):
        """The type of most digits among the sample's, or None: where derivatives are compared closely."""
        return next((dtype for dtype in ("float64", "complex128") if dtype in self.dtypes), None)

    def make(self, library, dtype=None, layout="contiguous"):
        """(args, kwargs, tensors): the call for one library, and the tensors in it in order."""
        random = np.random.default_rng(zlib.crc32(repr(self).encode()))
        tensors = []

        def build(value):
            if isinstance(value, Placeholder):
                tensors.append(value.make(library, random, dtype or self.precise or self.dtypes[0], layout))
                return tensors[-1]
            if isinstance(value, ref):
                return resolve(library, value.name)
            if isinstance(value, list | tuple):
                return type(value)(build(item) for item in value)
            if isinstance(value, slice):
                return slice(build(value.start), build(value.stop), build(value.step))
            return value

        args = [build(value) for value in self.args]
        kwargs = {name: build(value) for name, value in self.kwargs.items()}
        return args, kwargs, tensors


def is_differentiable(dtype):
    """Whether tensors of this type (a name) can require grad."""
    return "float" in dtype or dtype.startswith("complex")


def resolve(library, name):
    """What a dotted name means in a library."""
    for part in name.split("."):
        library = getattr(library, part)
    return library


def find(library, name):
    """The function of this name in a library, or the method of its tensors."""
    try:
        return resolve(library, name)
    except AttributeError:
        return resolve(library.Tensor, name)


def arrange(library, numbers, dtype, layout):
    """A tensor of these numbers, laid out in memory in one of LAYOUTS."""

    def dense(array):
        return library.tensor(array.ravel().tolist(), dtype=dtype).reshape(array.shape)

    if layout == "contiguous" or numbers.ndim == 0:
        return dense(numbers)
    if layout == "transposed":
        return dense(numbers.T).permute(tuple(reversed(range(numbers.ndim)))).detach()
    if layout == "expanded":
        return dense(numbers[:1]).expand(numbers.shape).detach()
    spread = np.zeros((*numbers.shape[:-1], 2 * numbers.shape[-1]), numbers.dtype)
    spread[..., ::2] = numbers
    return dense(spread)[..., ::2].detach()


def _tables(attribute):
    """The dicts of this name in the modules beside this one."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return [getattr(module, attribute, {}) for module in modules]


def collect(attribute="SAMPLES"):
    """All samples (or ERRORS) of the modules beside this one: name -> list."""
    collected = {}
    for table in _tables(attribute):
        for name, samples in table.items():
            collected.setdefault(name, []).extend(samples)
    return in_torchs_words(collected)


@functools.cache
def instead():
    """What torch is asked of the ops that it does not have, by name."""
    return {name: rounded_once(function) for table in _tables("INSTEAD") for name, function in table.items()}


def rounded_once(function):
    """As ops do it: half types are computed in float32, and the result alone is rounded."""

    def call(torch, *args, **kwargs):
        halves = {x.dtype for x in args if isinstance(x, torch.Tensor)} & {torch.float16, torch.bfloat16}
        args = [x.float() if isinstance(x, torch.Tensor) and x.dtype in halves else x for x in args]
        result = function(torch, *args, **kwargs)
        return result.to(halves.pop()) if halves else result

    return call


def in_torchs_words(collected):
    """Samples by name, those of ops that torch does not have with what it is asked instead."""
    for name, function in instead().items():
        for sample in collected.get(name, []):
            sample.options(torch=function, node=False)
    return collected
