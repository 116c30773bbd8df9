"""What the sweep measures: a call of each op on about n elements, forward alone and forward with backward.

An entry makes the arguments for one library and one size, and returns the call; every float tensor among the arguments
gets a gradient in the backward cases. Names are torch's; "add.column" is `add` called in another way.
"""

import math

from cases import Case

SIZES = {"small": 16, "64 K": 1 << 16, "4 M": 1 << 22}
OPS = {}  # name -> make(torch, n): (function, arguments, keyword arguments)


def resolve(torch, name):
    """torch.nn.functional.relu for "nn.functional.relu"."""
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


def entry(name, arguments, call=None, **keywords):
    """Adds an op: `arguments(torch, n)` makes a tuple; `call` names the function where the entry's name is another."""
    path = call or name

    def make(torch, n):
        chosen = {key: resolve(torch, value[6:]) if str(value).startswith("torch.") else value
                  for key, value in keywords.items()}  # fmt: skip
        return resolve(torch, path), arguments(torch, n), chosen

    OPS[name] = make


def uniform(low, high, count=1):
    return lambda torch, n: tuple(torch.rand(n) * (high - low) + low for _ in range(count))


def side(n):
    """The side of a square of n elements."""
    return math.isqrt(n)


def squares(count=1, low=-1.0, high=1.0):
    return lambda torch, n: tuple(torch.rand(side(n), side(n)) * (high - low) + low for _ in range(count))


def places(torch, n, high):
    """n integers below `high`."""
    return torch.randint(0, high, (n,))


# ---- By element

for _domain, _names in {
    (-1.0, 1.0): "abs ceil cos cosh deg2rad erf erfc exp exp2 expm1 floor frac isfinite isnan neg nn.functional.celu "
    "nn.functional.elu nn.functional.gelu nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardswish "
    "nn.functional.hardtanh nn.functional.leaky_relu nn.functional.logsigmoid nn.functional.mish nn.functional.relu "
    "nn.functional.relu6 nn.functional.selu nn.functional.silu nn.functional.softplus nn.functional.softshrink "
    "nn.functional.softsign nn.functional.tanhshrink positive rad2deg relu round sgn sigmoid sign sin sinc sinh square "
    "tan tanh trunc logical_not nan_to_num signbit special.i0e special.i1 special.ndtr",
    (-0.9, 0.9): "acos asin atan atanh asinh erfinv special.ndtri log1p",
    (0.1, 3.0): "log log2 log10 sqrt rsqrt reciprocal lgamma digamma i0 special.entr special.bessel_j0",
    (0.1, 0.9): "logit",
    (1.1, 3.0): "acosh",
}.items():
    for _name in _names.split():
        entry(_name, uniform(*_domain))

for _domain, _names in {
    (0.5, 2.0): "add sub mul div pow atan2 maximum minimum fmax fmin hypot copysign fmod remainder floor_divide "
    "logaddexp logaddexp2 xlogy heaviside nextafter eq ne lt le gt ge logical_and isclose special.zeta float_power",
}.items():
    for _name in _names.split():
        entry(_name, uniform(*_domain, count=2))
entry("add.number", lambda torch, n: (torch.rand(n), 2.5), call="add")
entry("mul.row", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n))), call="mul")
entry("mul.column", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n), 1)), call="mul")
entry("add.transposed", lambda torch, n: (torch.rand(side(n), side(n)).t(), torch.rand(side(n), side(n))), call="add")
entry("add.bfloat16", lambda torch, n: tuple(t.bfloat16() for t in uniform(0, 1, 2)(torch, n)), call="add")
entry("exp.bfloat16", lambda torch, n: (torch.rand(n).bfloat16(),), call="exp")
entry("mul.complex64", lambda torch, n: tuple(torch.complex(t, t) for t in uniform(0, 1, 2)(torch, n)), call="mul")
entry("add.int64", lambda torch, n: (places(torch, n, 100), places(torch, n, 100)), call="add")
entry("floor_divide.int64", lambda torch, n: (places(torch, n, 100), places(torch, n, 100) + 1), call="floor_divide")
entry("bitwise_and", lambda torch, n: (places(torch, n, 100), places(torch, n, 100)))
entry("addcmul", uniform(0.5, 1.0, 3))
entry("addcdiv", uniform(0.5, 1.0, 3))
entry("lerp", uniform(0.5, 1.0, 3))
entry("clamp", uniform(-1, 1), min=-0.5, max=0.5)
entry("where", lambda torch, n: (torch.rand(n) > 0.5, torch.rand(n), torch.rand(n)))
entry("to.float64", lambda torch, n: (torch.rand(n), torch.float64), call="Tensor.to")
entry("nn.functional.glu", squares())
entry("nn.functional.prelu", lambda torch, n: (torch.rand(n) - 0.5, torch.rand(1)))

# ---- Reductions, scans, sorting

for _name in [
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "var",
    "std",
    "logsumexp",
    "nansum",
    "argmax",
    "argmin",
    "all",
    "any",
    "count_nonzero",
]:
    for _label, _dim in (("all", None), ("rows", 1), ("columns", 0)):
        _more = {} if _dim is None else {"dim": _dim}
        if _name == "logsumexp" and _dim is None:
            _more = {"dim": (0, 1)}
        entry(f"{_name}.{_label}", squares(low=0.5, high=1.5), call=_name, **_more)
for _name in [
    "max",
    "min",
    "median",
    "mode",
    "cumsum",
    "cumprod",
    "cummax",
    "cummin",
    "logcumsumexp",
    "sort",
    "argsort",
    "softmax",
    "log_softmax",
]:
    for _label, _dim in (("rows", 1), ("columns", 0)):
        entry(f"{_name}.{_label}", squares(low=0.5, high=1.5), call=_name, dim=_dim)
entry("norm", squares())
entry("linalg.vector_norm.3", squares(), call="linalg.vector_norm", ord=3)
entry("topk", squares(), k=2)
entry("kthvalue", squares(), k=2)
entry("unique", lambda torch, n: (places(torch, n, 1000),))
entry("bincount", lambda torch, n: (places(torch, n, 1000),))
entry("histc", uniform(0, 1))
entry("searchsorted", lambda torch, n: (torch.arange(1000.0), torch.rand(n) * 1000))
entry("diff", squares())
entry("sum.bfloat16", lambda torch, n: (torch.rand(n).bfloat16(),), call="sum")

# ---- Shapes and indices

entry("clone", uniform(0, 1))
entry("t.contiguous", lambda torch, n: (torch.rand(side(n), side(n)).t(),), call="Tensor.contiguous")
entry("cat", lambda torch, n: ([torch.rand(n // 2), torch.rand(n // 2)],))
entry("cat.columns", lambda torch, n: ([torch.rand(side(n), side(n) // 2) for _ in range(2)], 1), call="cat")
entry("stack", lambda torch, n: ([torch.rand(n // 4) for _ in range(4)],))
entry("flip", squares(), dims=(0, 1))
entry("roll", squares(), shifts=1, dims=1)
entry("tril", squares())
entry("diag", squares())
entry("repeat", lambda torch, n: (torch.rand(n // 4), 4), call="Tensor.repeat")
entry("repeat_interleave", lambda torch, n: (torch.rand(n // 4), 4))
entry("nn.functional.pad", lambda torch, n: (torch.rand(side(n), side(n)), (1, 1)))
entry("index_select", lambda torch, n: (torch.rand(side(n), side(n)), 0, places(torch, side(n), side(n))))
entry("gather", lambda torch, n: (torch.rand(side(n), side(n)), 1, torch.randint(0, side(n), (side(n), side(n)))))
entry("scatter_add", lambda torch, n: (torch.rand(side(n), side(n)), 1,
                                       torch.randint(0, side(n), (side(n), side(n))),
                                       torch.rand(side(n), side(n))))  # fmt: skip
entry("index_add", lambda torch, n: (torch.rand(side(n), side(n)), 0, places(torch, side(n), side(n)),
                                     torch.rand(side(n), side(n))))  # fmt: skip
entry("masked_fill", lambda torch, n: (torch.rand(n), torch.rand(n) > 0.5, 0.0))
entry("masked_select", lambda torch, n: (torch.rand(n), torch.rand(n) > 0.5))
entry("take", lambda torch, n: (torch.rand(n), places(torch, n, n)))
entry("nonzero", lambda torch, n: (torch.rand(n) > 0.5,))
entry("getitem.indices", lambda torch, n: (torch.rand(n), places(torch, n, n)), call="Tensor.__getitem__")
entry("nn.functional.embedding", lambda torch, n: (places(torch, max(1, n // 64), 1000), torch.rand(1000, 64)))
entry("nn.functional.one_hot", lambda torch, n: (places(torch, max(1, n // 64), 64), 64))
entry("tensor_split", squares(), indices_or_sections=4)

# ---- Products and linear algebra

entry("mm", squares(2))
entry("mv", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n))))
entry("dot", uniform(0, 1, 2))
entry("bmm", lambda torch, n: (torch.rand(max(1, n // 1024), 32, 32), torch.rand(max(1, n // 1024), 32, 32)))
entry("addmm", squares(3))
entry("outer", lambda torch, n: (torch.rand(side(n)), torch.rand(side(n))))
entry("nn.functional.linear", lambda torch, n: (torch.rand(max(1, n // 64), 64), torch.rand(64, 64), torch.rand(64)))


def matrix(torch, n):
    """A well-conditioned symmetric matrix with a side of at most 256."""
    k = min(side(n), 256)
    a = torch.rand(k, k)
    return a @ a.t() / k + torch.eye(k)


for _name in ["inv", "det", "cholesky", "qr", "svdvals", "eigvalsh", "eigh", "slogdet", "matrix_exp", "pinv"]:
    entry(f"linalg.{_name}", lambda torch, n: (matrix(torch, n),))
entry("linalg.solve", lambda torch, n: (matrix(torch, n), matrix(torch, n)))
entry("cdist", lambda torch, n: (torch.rand(min(side(n), 1000), 16), torch.rand(min(side(n), 1000), 16)))
for _name in ["fft", "rfft", "fft2"]:
    entry(f"fft.{_name}", squares())

# ---- Layers

entry("nn.functional.layer_norm", lambda torch, n: (torch.rand(side(n), side(n)), (side(n),), torch.rand(side(n)),
                                                    torch.rand(side(n))))  # fmt: skip


def images(torch, n, channels=16):
    """A batch of square images of about n elements in all."""
    k = max(4, min(32, math.isqrt(max(1, n // channels))))
    return torch.rand(max(1, n // (channels * k * k)), channels, k, k)


entry("nn.functional.batch_norm", lambda torch, n: (images(torch, n), None, None, torch.rand(16), torch.rand(16)),
      training=True)  # fmt: skip
entry("nn.functional.group_norm", lambda torch, n: (images(torch, n), 4, torch.rand(16), torch.rand(16)))
entry("nn.functional.rms_norm", lambda torch, n: (torch.rand(side(n), side(n)), (side(n),)))
entry("nn.functional.conv1d", lambda torch, n: (torch.rand(max(1, n // 4096), 16, max(8, min(256, n // 16))),
                                                torch.rand(16, 16, 3)))  # fmt: skip
entry("nn.functional.conv2d", lambda torch, n: (images(torch, n), torch.rand(16, 16, 3, 3)), padding=1)
entry("conv2d.depthwise", lambda torch, n: (images(torch, n), torch.rand(16, 1, 3, 3)), call="nn.functional.conv2d",
      padding=1, groups=16)  # fmt: skip
entry("nn.functional.conv_transpose2d", lambda torch, n: (images(torch, n), torch.rand(16, 16, 3, 3)))
entry("nn.functional.max_pool2d", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.avg_pool2d", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.adaptive_avg_pool2d", lambda torch, n: (images(torch, n), 2))
entry("nn.functional.interpolate", lambda torch, n: (images(torch, n),), scale_factor=2, mode="bilinear")
entry("nn.functional.grid_sample", lambda torch, n: (images(torch, n), torch.rand(images(torch, n).shape[0], 8, 8, 2)),
      align_corners=False)  # fmt: skip
entry("nn.functional.unfold", lambda torch, n: (images(torch, n), 3))
entry("nn.functional.scaled_dot_product_attention",
      lambda torch, n: tuple(torch.rand(max(1, n // 4096), 64 if n > 4096 else 2, 32) for _ in range(3)))  # fmt: skip
for _name in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]:
    entry(f"nn.functional.{_name}", uniform(0.2, 0.8, 2))
entry("nn.functional.binary_cross_entropy", uniform(0.2, 0.8, 2))
entry("nn.functional.binary_cross_entropy_with_logits", uniform(0.2, 0.8, 2))
entry("nn.functional.kl_div", squares(2, 0.2, 0.8), reduction="sum")
entry("nn.functional.cross_entropy", lambda torch, n: (torch.rand(side(n), side(n)), places(torch, side(n), side(n))))
entry("nn.functional.cosine_similarity", squares(2))
entry("nn.functional.dropout", uniform(0, 1))

# ---- Numbers by chance

for _name in ["rand", "randn", "randperm"]:
    entry(_name, lambda torch, n: (n,))
entry("bernoulli", uniform(0, 1))
entry("normal_", uniform(0, 1), call="Tensor.normal_")
entry("exponential_", uniform(0, 1), call="Tensor.exponential_")
NOT_DIFFERENTIABLE = {
    "rand",
    "randn",
    "randperm",
    "bernoulli",
    "normal_",
    "exponential_",
    "bincount",
    "histc",
    "unique",
}


def floats(torch, arguments):
    """The float tensors among arguments, lists included."""
    for argument in arguments:
        if isinstance(argument, list):
            yield from floats(torch, argument)
        elif isinstance(argument, torch.Tensor) and (argument.is_floating_point() or argument.is_complex()):
            yield argument


def forward(make, n):
    def prepare(torch):
        function, arguments, keywords = make(torch, n)

        def step():
            with torch.no_grad():
                function(*arguments, **keywords)

        return step

    return prepare


def backward(make, n):
    """Forward and backward; raises TypeError where no result carries a gradient."""

    def prepare(torch):
        function, arguments, keywords = make(torch, n)
        leaves = [tensor.requires_grad_() for tensor in floats(torch, arguments)]

        def results():
            out = function(*arguments, **keywords)
            return [out] if isinstance(out, torch.Tensor) else [t for t in out if isinstance(t, torch.Tensor)]

        gradients = [torch.ones_like(out) if out.requires_grad else None for out in results()]
        if not any(gradient is not None for gradient in gradients):
            raise TypeError("no result requires grad")

        def step():
            pairs = [(out, g) for out, g in zip(results(), gradients, strict=True) if g is not None]
            torch.autograd.grad([out for out, _ in pairs], leaves, [g for _, g in pairs], allow_unused=True)

        return step

    return prepare


def cases():
    """Every op, size and direction; names are "exp | 64 K | forward"."""
    for name, make in OPS.items():
        for size, n in SIZES.items():
            group = "small" if size == "small" else "large"
            yield Case(f"{name} | {size} | forward", group, name, forward(make, n), "")
            if name not in NOT_DIFFERENTIABLE:
                yield Case(f"{name} | {size} | backward", group, name, backward(make, n), "")


CASES = list(cases())
