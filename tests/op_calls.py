"""Calls of every op of the table, of those inside of others, too: noted while samples and their gradients run.

The samples are those of tests/samples, and of torch's operator database for what has none there. While they run, the
modules of the op table see recorders in the place of ops.
"""

import contextlib
import functools
import itertools
import sys

import numpy as np
import torch

import adjoint
from adjoint import _C
from adjoint.ops import language

from .compare import outcome
from .oracle.check import arguments, spread
from .oracle.entries import LEFT_OUT, entries, ours
from .oracle.translate import Translator
from .samples import I, Sample, T, find, ref
from .test_op_table import NAMES, TABLE, first_gradients, samples_by_name, second_gradients

PRECISE = (adjoint.float64, adjoint.complex128)
MOST_CALLS = 40  # of one op, all of them different

# Ops of sparse tensors and of their patterns, which samples cannot make: tests/sparse.
OF_SPARSE = {name for name, item in TABLE.items() if item.sparse or {"pattern", "rows"}.intersection(item.arguments)}
OF_SPARSE -= {"detach", "_embedding_backward", "_embedding_bag_weight_grad"}
# What a library of a GPU computes, and nothing here; tests/cuda has it.
OF_LIBRARIES = {"_recurrent_network"}
# Ops that are called from C++ alone, and arguments that samples leave out.
_CUBE = (2, 2, 2), (2, 2, 2), (0, 0, 0)
_SQUARE = (2, 2), (2, 2), (0, 0)
INSIDE = {
    "_UpsampleLanczos2DAa": [Sample(T(1, 1, 4, 4), (6, 6), "lanczos-aa", False, 0.0, 0.0, 0.0)],
    "_addmm_relu": [Sample(T(4), T(2, 3), T(3, 4))],
    "_attention": [Sample(T(1, 2, 3, 4), T(1, 2, 3, 4), T(1, 2, 3, 4), None, 0.5, False, 0.0, None)],
    "_avg_pool3d": [Sample(T(1, 1, 4, 4, 4), *_CUBE, False, True, None)],
    "_bernoulli_log_density": [Sample(T(3, low=0.0, high=1.0), T(3))],
    "_beta_log_density": [Sample(T(3, low=0.1, high=0.9), T(3, low=0.5), T(3, low=0.5))],
    "_cauchy_log_density": [Sample(T(3), T(3), T(3, low=0.5))],
    "_batch_norm_eval": [Sample(T(2, 3), None, T(3), T(3, grad=False), T(3, low=0.5, grad=False), 1e-5)],
    "_cross_entropy": [
        Sample(T(3, 4), I(values=[1, 0, -100]), None, -100, "mean", False),
        Sample(T(3, 4), I(values=[1, 0, 3]), T(4, low=0.5, grad=False), -100, "none", False),
    ],
    "_dropped": [Sample(T(3), T(3), 2.0)],
    "_euclidean_dist": [Sample(T(3, 2), T(4, 2))],
    "_exponential_log_density": [Sample(T(3, low=0.1), T(3, low=0.5))],
    "_gamma_log_density": [Sample(T(3, low=0.1), T(3, low=0.5), T(3, low=0.5))],
    "_grid_sampler_3d": [
        Sample(T(1, 1, 3, 3, 3), T(1, 2, 2, 2, 3, low=-0.9, high=0.9), T(1, 2, 2, 2, 3), 0, 0, False),
    ],
    "_group_norm": [Sample(T(2, 4, 3), None, T(4), None, None, 2, 0.1, 1e-5)],
    "_gumbel_log_density": [Sample(T(3), T(3), T(3, low=0.5))],
    "_laplace_log_density": [Sample(T(3), T(3), T(3, low=0.5))],
    "_linalg_cofactors": [Sample(T(3, 3))],
    "_matmul_out": [Sample(T(2, 3), T(3, 2))],
    "_max_pool3d": [Sample(T(1, 1, 4, 4, 4), *_CUBE, (1, 1, 1), False)],
    "_max_pool_values": [Sample(T(1, 1, 4, 4), *_SQUARE, (1, 1), False)],
    "_normal_log_density": [Sample(T(3), T(3), T(3, low=0.5))],
    "_poisson_log_density": [Sample(T(3, low=0.1), T(3, low=0.5))],
    "_ratio_or_zero": [Sample(T(3), T(3, low=0.5))],
    "_relu_gradient": [Sample(T(3), T(values=[-1.0, 2.0, -3.0]))],
    "_segments": [Sample(T(2, 4, 2), I(values=[[0, 1, 4], [0, 3, 3]]), kind) for kind in ("max", "min", "prod", "sum")],
    "_sparse_sum_groups": [
        Sample(T(3, 2), I(values=[2, 0, 1]), I(values=[0, 1, 3]), I(values=[1, 1, 0])),
    ],
    "_student_t_log_density": [Sample(T(3), T(3, low=0.5), T(3), T(3, low=0.5))],
    "_uniform_log_density": [Sample(T(3, grad=False), T(3, low=-5.0, high=-3.0), T(3, low=3.0, high=5.0))],
    "_unique_consecutive": [Sample(T(values=[1.0, 1.0, 2.0]), False, False)],
    "_unique_consecutive_dim": [Sample(T(values=[[1.0], [1.0], [2.0]]), 0)],
    "alias": [Sample(T(3))],
    "as_strided_in_storage": [Sample(T(6), (2, 2), (2, 1))],
    "copy": [Sample(T(2, 3), T(2, 3)), Sample(T(2, 3), T(3))],
    "cubed": [Sample(T(3))],
    "matrix_transpose": [Sample(T(2, 3))],
    "max_all": [Sample(T(2, 3))],
    "mean_all": [Sample(T(2, 3))],
    "median_dim": [Sample(T(3, 4), 1)],
    "min_all": [Sample(T(2, 3))],
    "overwrite": [Sample(T(2, 3), T()), Sample(T(2, 3), 1.5)],
    "power": [Sample(T(3, low=0.5), 1.7)],
    "prod_all": [Sample(T(2, 3))],
    "reshape_alias": [Sample(T(2, 3), (3, 2))],
    "resize_": [Sample(T(6, grad=False), (2, 3))],
    "resize_as_": [Sample(T(6, grad=False), T(2, 3, grad=False))],
    "reverse_dims": [Sample(T(2, 3))],
    "rooted": [Sample(T(3, low=0.5))],
    "split_evenly": [Sample(T(5, 2), 2), Sample(T(2, 5), 2, 1)],
    "squared": [Sample(T(3))],
    "squeeze_all": [Sample(T(1, 3))],
    "squeeze_dim": [Sample(T(1, 3), 0)],
    "squeeze_dims": [Sample(T(1, 3, 1), (0, 2))],
    "to_device": [Sample(T(2, 3), "cpu", ref("float64"))],
    "triangle_indices": [Sample(3, 3, 0, True, ref("int64"), T(0, grad=False))],
    "trunc_divide": [Sample(T(3, low=-7.0, high=7.0), T(3, low=0.6, high=3.0))],
    "view_dtype": [Sample(T(2, 3), ref("int64"))],
    "view_sizes": [Sample(T(2, 3), (3, 2))],
    "xlog1py": [Sample(T(values=[0.0]), T(values=[-1.0]))],
    "zero": [Sample(T(2, 3))],
}


def attempt(call):
    """(value, None), or (None, the exception that the call raised)."""
    came = outcome(lambda _: call(), adjoint, look=None)
    return came.value, came.error


def is_precise(value):
    return isinstance(value, adjoint.Tensor) and value.dtype in PRECISE


def is_number(value):
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def tensors_of(value):
    """The tensors of a result or an argument, in order."""
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_of(item)]
    return [value] if isinstance(value, adjoint.Tensor) else []


def with_tensors(function, value):
    """An argument with function(tensor) in the place of each tensor."""
    if isinstance(value, list | tuple):
        return [with_tensors(function, item) for item in value]
    return function(value) if isinstance(value, adjoint.Tensor) else value


def described(value):
    """What tells an argument from another, but for the numbers in tensors."""
    if isinstance(value, list | tuple):
        return tuple(map(described, value))
    if isinstance(value, adjoint.Tensor):
        return value.dtype, tuple(value.shape), bool(adjoint.isfinite(value).all())
    return str(value)


class Call:
    """A call of an op: `values` are its arguments by name."""

    def __init__(self, declaration, args, kwargs):
        self.declaration = declaration
        names = declaration.arguments
        if declaration.varargs in names:
            first = names.index(declaration.varargs)
            if len(args) > first and not isinstance(args[first], list | tuple):
                args = (*args[:first], args[first:])
        self.values = {**dict(zip(names, args, strict=False)), **kwargs}

    def __repr__(self):
        return f"{self.declaration.name}({', '.join(f'{name}={described(x)}' for name, x in self.values.items())})"

    def __call__(self, **replaced):
        """The result, with other values for some arguments."""
        values, declaration = {**self.values, **replaced}, self.declaration
        args = []
        for name in itertools.takewhile(self.values.__contains__, declaration.arguments[: declaration.positional]):
            value = values.pop(name)
            args += value if name == declaration.varargs and isinstance(value, list) else [value]
        name = f"{declaration.name}_" if declaration.inplace == "only" else declaration.name
        if name.endswith("_"):
            args[0] = args[0].clone()
        return _C.op_object(name)(*args, **values)

    def keep(self):
        """Takes copies of the tensors, which nobody else can change; returns the call."""
        self.values = {name: with_tensors(lambda x: x.detach().clone(), value) for name, value in self.values.items()}
        return self

    @functools.cached_property
    def carrying(self):
        """(arguments whose gradients the op knows, places of the results that carry them); in double precision."""
        names, places = [], set()
        for name, value in self.values.items():
            if self.declaration.rules.get(name, True) and any(map(is_precise, tensors_of(value))):
                leaf = with_tensors(lambda x: x.detach().requires_grad_() if is_precise(x) else x, value)
                result, _ = attempt(functools.partial(self, **{name: leaf}))
                found = {i for i, x in enumerate(tensors_of(result)) if is_precise(x) and x.requires_grad}
                names += [name] if found else []
                places |= found
        return names, sorted(places)

    def numbers(self, **replaced):
        """The results that carry gradients, as complex arrays."""
        tensors = tensors_of(self(**replaced))
        return [tensors[place].detach().numpy().astype(complex) for place in self.carrying[1]]


class Recorder:
    """Stands for an op, and notes the arguments of its calls."""

    def __init__(self, op, note):
        self.op, self.note = op, note

    def __call__(self, *args, **kwargs):
        self.note(self.op.__name__, args, kwargs)
        return self.op(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self.op, name)


@contextlib.contextmanager
def recording(note):
    """Has the modules of the op table call recorders; gives a function that turns other ops into recorders."""
    get, replaced = language.__getattr__, []

    def recorder(value):
        if not isinstance(value, _C.Op):
            return value
        if value._table_name() is None:
            return getattr(value, "__wrapped__", value)  # a function of Python, for which no op is to stand in
        if value.__name__.endswith("_") and value.__name__ not in TABLE:
            return value  # in place
        return Recorder(_C.op_object(value._table_name()), note)

    try:
        for module in [module for name, module in sys.modules.items() if name.startswith("adjoint.ops.")]:
            for name, value in list(vars(module).items()):
                if recorder(value) is not value:
                    replaced.append((module, name, value))
                    setattr(module, name, recorder(value))
        language.__getattr__ = lambda name: recorder(get(name))
        yield recorder
    finally:
        language.__getattr__ = get
        for module, name, value in replaced:
            setattr(module, name, value)


@functools.cache
def calls():
    """The calls of every op of the table, by its name; those that can be made again, and give finite numbers."""
    noted = {name: {} for name in TABLE}

    def note(name, args, kwargs):
        if kwargs.get("out") is None and len(noted[name]) < MOST_CALLS:
            call = Call(TABLE[name], args, {key: value for key, value in kwargs.items() if key != "out"})
            if repr(call) not in noted[name]:
                noted[name][repr(call)] = call.keep()

    # In anomaly mode rules that are calls go through Python, too, where recorders see them.
    with recording(note) as recorder, adjoint.autograd.set_detect_anomaly(True, check_nan=False):
        for function, args, kwargs in itertools.chain(written_samples(), samples_of_the_database()):
            attempt(functools.partial(run, recorder(function), args, kwargs))
    for name, samples in INSIDE.items():
        for sample in samples:
            note(name, *sample.make(adjoint)[:2])
    return {name: list(filter(is_usable, its_calls.values())) for name, its_calls in noted.items()}


def is_usable(call):
    results, error = attempt(call.numbers)
    return error is None and all(np.isfinite(x).all() for x in results)


def written_samples():
    """(function, args, kwargs) of what is written in tests/samples, of real and of complex numbers."""
    for name in NAMES:
        for sample in samples_by_name()[name]:
            for dtype in ("float64", "complex128"):
                made, _ = attempt(functools.partial(sample.make, adjoint, dtype))
                if made is not None:
                    yield find(adjoint, name), made[0], made[1]


def samples_of_the_database():
    """(function, args, kwargs) of some samples of torch's operator database, of real and of complex numbers."""
    for name, op in entries().items():
        if name in LEFT_OUT or name in NAMES:
            continue
        for dtype in (torch.float64, torch.complex128):
            samples, _ = attempt(lambda op=op, dtype=dtype: list(op.sample_inputs_func(op, "cpu", dtype, True)))
            for sample in spread(samples or [], 4):
                call, _ = attempt(lambda op=op, sample=sample: (ours(op), *Translator()(arguments(sample))))
                if call is not None:
                    yield call


def run(function, args, kwargs):
    """Calls a function and its gradients: the fused ones, and those that are recorded."""
    leaves = [tensor for tensor in tensors_of([*args, *kwargs.values()]) if tensor.requires_grad]
    result = function(*args, **kwargs)
    first_gradients(adjoint, result, leaves)
    second_gradients(adjoint, result, leaves)
