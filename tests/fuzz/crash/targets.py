"""What is called: everything public, with the arguments of the samples where there are some, all as source text."""

import inspect

import adjoint
from tests import samples

MODULES = [
    "",
    "nn.functional",
    "linalg",
    "fft",
    "special",
    "signal.windows",
    "masked",
    "nn.init",
    "nn.utils",
    "functional",
]
MODULES += [
    "autograd",
    "autograd.functional",
    "autograd.graph",
    "testing",
    "inspect",
    "func",
    "random",
    "amp",
    "utils.dlpack",
]
MODULES += [
    "nn.utils.rnn",
    "nn.utils.parametrize",
    "nn.utils.parametrizations",
    "nn.utils.prune",
    "utils.checkpoint",
    "cpu",
]

# These change the process rather than compute, or last as long as they are told to.
LEFT_OUT = {"set_num_threads", "set_num_interop_threads", "set_default_dtype", "set_default_device", "set_printoptions"}
LEFT_OUT |= {"set_grad_enabled", "set_anomaly_enabled", "set_default_tensor_type", "set_autocast_enabled", "gradcheck"}
LEFT_OUT |= {"set_autocast_dtype", "set_autocast_cache_enabled", "autocast_increment_nesting", "gradgradcheck"}
LEFT_OUT |= {"autocast_decrement_nesting", "__class__", "__init_subclass__", "__subclasshook__", "__dir__", "__dict__"}
LEFT_OUT |= {
    "__doc__",
    "__module__",
    "set_deterministic_debug_mode",
    "use_deterministic_algorithms",
    "set_flush_denormal",
}
LEFT_OUT |= {"__getattribute__", "__setattr__", "__delattr__", "disable_saved_tensors_hooks", "__hash__"}
LEFT_OUT |= {"add_hook"}  # not torch's: hooks are added through what has them


class Target:
    """One name, its home ("torch.linalg" or "Tensor"), and valid arguments of it."""

    def __init__(self, home, name, calls, others):
        self.home, self.name, self.calls, self.sampled = home, name, calls or others, bool(calls)

    @property
    def path(self):
        return f"{self.home}.{self.name}"


def text(value, dtype):
    """An argument of a sample as source text; raises ValueError for what has none."""
    if isinstance(value, samples.Placeholder):
        return placeholder(value, value.dtype or dtype)
    if isinstance(value, samples.ref):
        return f"torch.{value.name}"
    if isinstance(value, list):
        return f"[{', '.join(text(item, dtype) for item in value)}]"
    if isinstance(value, tuple):
        return f"({''.join(text(item, dtype) + ', ' for item in value)})"
    if isinstance(value, slice):
        return f"slice({', '.join(text(part, dtype) for part in (value.start, value.stop, value.step))})"
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f"float('{value}')"
    if value is None or value is ... or isinstance(value, bool | int | complex | str):
        return repr(value) if value is not ... else "..."
    raise ValueError(value)


def placeholder(value, dtype):
    """A tensor of a sample: its own values, or evenly spaced ones in its range."""
    if value.values is not None:
        return f"torch.tensor({value.values.tolist()!r}, dtype=torch.{dtype})".replace("nan", "torch.nan").replace(
            "inf", "torch.inf"
        )
    count = 1
    for size in value.shape:
        count *= size
    shape = tuple(value.shape)
    if dtype == "bool":
        return f"(torch.arange({count}) % 2 == 0).reshape({shape})"
    if "int" in dtype:
        low, high = int(value.low), max(int(value.high), int(value.low) + 1)
        return f"(torch.arange({count}) * 7 % {high - low} + {low}).to(torch.{dtype}).reshape({shape})"
    grad = ".requires_grad_()" if value.grad else ""
    return f"torch.linspace({value.low}, {value.high}, {count}, dtype=torch.{dtype}).reshape({shape}){grad}"


def calls_of(name, collected):
    """Arguments of every sample of a name: a list of (positional texts, {keyword: text})."""
    found = []
    for sample in collected.get(name, ()):
        dtype = sample.precise or sample.dtypes[0]
        try:
            args = [text(value, dtype) for value in sample.args]
            found.append((args, {key: text(value, dtype) for key, value in sample.kwargs.items()}))
        except ValueError:
            continue
    return found


# What a name without samples is tried with.
MATRIX, VECTOR = "torch.rand(3, 3, requires_grad=True)", "torch.arange(3.0)"
GENERIC = [
    [],
    [MATRIX],
    [MATRIX, MATRIX],
    [MATRIX, "1"],
    [VECTOR],
    [VECTOR, VECTOR],
    ["3"],
    ["(2, 3)"],
    [f"[{MATRIX}, {MATRIX}]"],
]
GENERIC += [
    [MATRIX, "0", "torch.tensor([0, 2])"],
    [MATRIX, "0.5", "2.0"],
    ["lambda x: (x * x).sum()", MATRIX],
    ["torch.nn.Linear(3, 3)"],
]


def resolve(path):
    """The module of this path below the package, imported if need be."""
    found = adjoint
    for part in filter(None, path.split(".")):
        found = getattr(found, part)
    return found


def targets():
    """Everything public, in one order."""
    collected = samples.collect()
    found = []
    for path in MODULES:
        home = f"torch.{path}".rstrip(".")
        for name, value in sorted(vars(resolve(path)).items()):
            if not callable(value) or name.startswith("_") or name in LEFT_OUT or inspect.isclass(value):
                continue
            calls = calls_of(f"{path}.{name}".lstrip("."), collected)
            found.append(Target(home, name, calls, [(args, {}) for args in GENERIC]))
    for name in sorted(dir(adjoint.Tensor)):
        if name in LEFT_OUT or (name.startswith("_") and not name.startswith("__")):
            continue
        calls = [call for call in calls_of(name.removesuffix("_"), collected) if call[0]]
        found.append(Target("Tensor", name, calls, [(args, {}) for args in GENERIC[1:7]]))
    return found
