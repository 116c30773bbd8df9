"""What the sweep measures: a call of each op on about n elements, forward alone and forward with backward.

An entry makes the arguments for one library and one size, and returns the call; every float tensor among the arguments
gets a gradient in the backward cases. Names are torch's; "add.column" is `add` called in another way.
"""

import math

import sweep_layers  # noqa: F401 - adds its entries
import sweep_variants  # noqa: F401 - adds its entries
from cases import Case
from sweep_entry import MEDIUM, OPS, SIZES, batch, entry, images, matrix, places, side, squares, uniform

# ---- By element

for _domain, _names in {
    (-1.0, 1.0): "abs ceil cos cosh deg2rad erf erfc exp exp2 expm1 floor frac isfinite isnan neg nn.functional.celu "
    "nn.functional.elu nn.functional.gelu nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardswish "
    "nn.functional.hardtanh nn.functional.leaky_relu nn.functional.logsigmoid nn.functional.mish nn.functional.relu "
    "nn.functional.relu6 nn.functional.selu nn.functional.silu nn.functional.softplus nn.functional.softshrink "
    "nn.functional.softsign nn.functional.tanhshrink positive rad2deg relu round sgn sigmoid sign sin sinc sinh square "
    "tan tanh trunc logical_not nan_to_num signbit special.i0e special.i1 special.ndtr isinf isposinf "
    "angle",
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
entry("bitwise_and", lambda torch, n: (places(torch, n, 100), places(torch, n, 100)))
entry("bitwise_not", lambda torch, n: (places(torch, n, 100),))
entry("bitwise_left_shift", lambda torch, n: (places(torch, n, 100), places(torch, n, 8)))
entry("gcd", lambda torch, n: (places(torch, n, 100), places(torch, n, 100)))
entry("lcm", lambda torch, n: (places(torch, n, 100), places(torch, n, 100)))
entry("ldexp", lambda torch, n: (torch.rand(n), places(torch, n, 8)))
entry("frexp", uniform(0, 1))
entry("rsub", uniform(0, 1, 2))
entry("round.decimals", uniform(0, 1), call="round", decimals=2)
entry("div.floor", uniform(0.5, 2, 2), call="div", rounding_mode="floor")
entry("div.trunc", uniform(0.5, 2, 2), call="div", rounding_mode="trunc")
entry("pow.number", lambda torch, n: (torch.rand(n), 2.5), call="pow")
entry("pow.cube", lambda torch, n: (torch.rand(n), 3), call="pow")
entry("complex", uniform(0, 1, 2))
entry("polar", uniform(0, 1, 2))
entry("clamp.tensors", lambda torch, n: (torch.rand(n), torch.rand(n) * 0.5, torch.rand(n) * 0.5 + 0.5), call="clamp")
entry("addcmul", uniform(0.5, 1.0, 3))
entry("addcdiv", uniform(0.5, 1.0, 3))
entry("lerp", uniform(0.5, 1.0, 3))
entry("clamp", uniform(-1, 1), min=-0.5, max=0.5)
entry("where", lambda torch, n: (torch.rand(n) > 0.5, torch.rand(n), torch.rand(n)))
entry("nn.functional.glu", squares())
entry("nn.functional.prelu", lambda torch, n: (torch.rand(n) - 0.5, torch.rand(1)))
entry("nn.functional.threshold", lambda torch, n: (torch.rand(n), 0.5, 0.0))
entry("nn.functional.rrelu", uniform(-1, 1), training=True)
entry("gelu.tanh", uniform(-1, 1), call="nn.functional.gelu", approximate="tanh")
for _name in ["elu", "celu", "selu"]:
    entry(f"{_name}.positive", uniform(0, 1), call=f"nn.functional.{_name}")

for _name in ["j0", "j1", "y0", "y1"]:
    entry(f"special.bessel_{_name}.wide", uniform(1.0, 20.0), call=f"special.bessel_{_name}", sizes=MEDIUM)
for _name in ["i0", "i1", "k0", "k1"]:
    entry(f"special.modified_bessel_{_name}", uniform(0.1, 5.0), sizes=MEDIUM)
SPECIAL = """i1e erfcx log_ndtr airy_ai spherical_bessel_j0 scaled_modified_bessel_k0 scaled_modified_bessel_k1"""
for _name in SPECIAL.split():
    entry(f"special.{_name}", uniform(0.1, 3.0), sizes=MEDIUM)
POLYNOMIALS = """chebyshev_polynomial_t chebyshev_polynomial_u hermite_polynomial_h hermite_polynomial_he
laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t"""
for _name in POLYNOMIALS.split():
    entry(f"special.{_name}", lambda torch, n: (torch.rand(n) * 0.5 + 0.2, 4), sizes=MEDIUM)
entry("special.xlog1py", uniform(0.5, 2.0, 2))
entry("special.polygamma", lambda torch, n: (2, torch.rand(n) + 0.5), sizes=MEDIUM)
entry("special.trigamma", lambda torch, n: (1, torch.rand(n) + 0.5), call="special.polygamma", sizes=MEDIUM)
for _name in ["gammainc", "gammaincc"]:  # the gradient by the first argument has no formula
    entry(f"special.{_name}", lambda torch, n: (torch.rand(n) + 0.5, torch.rand(n) + 0.5), sizes=MEDIUM, gradient=False)
entry("special.multigammaln", lambda torch, n: (torch.rand(n) + 2, 2), sizes=MEDIUM)

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
    "nanmean",
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
for _name in ["aminmax", "var_mean", "max", "min", "median", "nanmedian"]:
    entry(f"{_name}.all", squares(low=0.5, high=1.5), call=_name)
entry("sum.middle", lambda torch, n: (torch.rand(max(1, n // 1024), 32, max(1, min(32, n // 32))), 1), call="sum")
entry("sum.outer", lambda torch, n: (torch.rand(max(1, n // 1024), 32, max(1, min(32, n // 32))), (0, 2)), call="sum")
entry("var_mean.rows", squares(), call="var_mean", dim=1)
entry("quantile", squares(), q=0.3, dim=1)
entry("norm", squares())
entry("norm.rows", squares(), call="norm", dim=1)
entry("norm.1", squares(), call="norm", p=1)
entry("linalg.vector_norm.inf", squares(), call="linalg.vector_norm", ord=math.inf)
entry("dist", uniform(0, 1, 2))
entry("trace", squares())
entry("renorm", squares(), p=2, dim=0, maxnorm=1.0)
entry("cov", lambda torch, n: (torch.rand(min(side(n), 64), max(1, n // 64)),))
entry("corrcoef", lambda torch, n: (torch.rand(min(side(n), 64), max(1, n // 64)),))
entry("trapezoid", squares())
entry("cumulative_trapezoid", squares())
entry("gradient", squares(), dim=1)
entry("unique_consecutive", lambda torch, n: (places(torch, n, 3),))
entry("unique.rows", lambda torch, n: (torch.randint(0, 3, (max(1, n // 8), 8)),), call="unique", dim=0, sizes=MEDIUM)
entry("isin", lambda torch, n: (places(torch, n, 1000), places(torch, 100, 1000)))
entry("bucketize", lambda torch, n: (torch.rand(n) * 1000, torch.arange(1000.0)))
entry("histogram", lambda torch, n: (torch.rand(n), 100), gradient=False)
entry("linalg.vector_norm.3", squares(), call="linalg.vector_norm", ord=3)
entry("topk", squares(), k=2)
entry("kthvalue", squares(), k=2)
entry("unique", lambda torch, n: (places(torch, n, 1000),), gradient=False)
entry("bincount", lambda torch, n: (places(torch, n, 1000),), gradient=False)
entry("histc", uniform(0, 1), gradient=False)
entry("searchsorted", lambda torch, n: (torch.arange(1000.0), torch.rand(n) * 1000))
entry("diff", squares())

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
entry("tensor_split", lambda torch, n: (torch.rand(side(n), side(n)), 4))
for _name in ["triu", "rot90", "fliplr", "diagonal", "unbind"]:
    entry(_name, squares())
entry("diag_embed", lambda torch, n: (torch.rand(max(1, n // 1024), max(4, min(32, n // 32))),))
entry("block_diag", lambda torch, n: tuple(torch.rand(max(1, side(n) // 4), max(1, side(n) // 4)) for _ in range(4)))
entry("tile", lambda torch, n: (torch.rand(side(n) // 2, side(n) // 2), (2, 2)))
entry("hstack", lambda torch, n: ([torch.rand(side(n), side(n) // 2) for _ in range(2)],))
entry("meshgrid", lambda torch, n: (torch.rand(side(n)), torch.rand(side(n))), indexing="ij")
entry("cartesian_prod", lambda torch, n: (torch.rand(side(n)), torch.rand(side(n))))
entry("combinations", lambda torch, n: (torch.rand(side(n)),))
entry("split", lambda torch, n: (torch.rand(side(n), side(n)), max(1, side(n) // 4)))
entry("unfold", lambda torch, n: (torch.rand(n), 0, 4, 2), call="Tensor.unfold")
entry("as_strided", lambda torch, n: (torch.rand(n), (n // 4, 2), (4, 1)))
entry("expand.contiguous", lambda torch, n: (torch.rand(side(n), 1), (side(n), side(n))), call="expand_copy")
entry("permute.contiguous", lambda torch, n: (images(torch, n).permute(0, 2, 3, 1),), call="Tensor.contiguous")
entry("slice.contiguous", lambda torch, n: (torch.rand(2 * n)[::2],), call="Tensor.contiguous")
entry("select_scatter", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n)), 1, 1))
entry("slice_scatter", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n), 1), 1, 1, 2))
entry("diagonal_scatter", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n))))
entry("index_copy", lambda torch, n: (torch.rand(side(n), side(n)), 0, torch.randperm(side(n)),
                                      torch.rand(side(n), side(n))))  # fmt: skip
entry("index_fill", lambda torch, n: (torch.rand(side(n), side(n)), 1, places(torch, 4, side(n)), 1.0))
entry("index_reduce", lambda torch, n: (torch.rand(side(n), side(n)), 0, places(torch, side(n), side(n)),
                                        torch.rand(side(n), side(n)), "amax"))  # fmt: skip
entry("index_put", lambda torch, n: (torch.rand(n), (torch.randperm(n),), torch.rand(n)))
entry("index_put.rows", lambda torch, n: (torch.rand(side(n), side(n)), (torch.randperm(side(n)),),
                                          torch.rand(side(n), side(n))), call="index_put")  # fmt: skip
entry("index_put.accumulate", lambda torch, n: (torch.rand(n), (places(torch, n, n),), torch.rand(n), True),
      call="index_put")  # fmt: skip
entry("scatter", lambda torch, n: (torch.rand(side(n), side(n)), 1, torch.randint(0, side(n), (side(n), side(n))),
                                   torch.rand(side(n), side(n))))  # fmt: skip
entry("scatter_reduce", lambda torch, n: (torch.rand(side(n), side(n)), 1,
                                          torch.randint(0, side(n), (side(n), side(n))),
                                          torch.rand(side(n), side(n)), "amax"))  # fmt: skip
entry("gather.columns", lambda torch, n: (torch.rand(side(n), side(n)), 0,
                                          torch.randint(0, side(n), (side(n), side(n)))), call="gather")  # fmt: skip
entry("put", lambda torch, n: (torch.rand(n), torch.randperm(n), torch.rand(n)), call="Tensor.put")
entry("masked_scatter", lambda torch, n: (torch.rand(n), torch.rand(n) > 0.5, torch.rand(n)))
entry("argwhere", lambda torch, n: (torch.rand(side(n), side(n)) > 0.5,))
entry("getitem.mask", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n)) > 0.5),
      call="Tensor.__getitem__")  # fmt: skip
entry("getitem.rows", lambda torch, n: (torch.rand(side(n), side(n)), places(torch, side(n), side(n))),
      call="Tensor.__getitem__")  # fmt: skip
entry("tril_indices", lambda torch, n: (side(n), side(n)), gradient=False)
entry("nn.functional.embedding_bag", lambda torch, n: (torch.randint(0, 1000, (max(1, n // 1024), 16)),
                                                       torch.rand(1000, 64)))  # fmt: skip

# ---- Products and linear algebra

entry("mm", squares(2))
entry("mv", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n))))
entry("dot", uniform(0, 1, 2))
entry("bmm", lambda torch, n: (torch.rand(max(1, n // 1024), 32, 32), torch.rand(max(1, n // 1024), 32, 32)))
entry("addmm", squares(3))
entry("outer", lambda torch, n: (torch.rand(side(n)), torch.rand(side(n))))
entry("nn.functional.linear", lambda torch, n: (torch.rand(max(1, n // 64), 64), torch.rand(64, 64), torch.rand(64)))


FACTORISATIONS = """inv det cholesky qr svd svdvals eig eigvals eigvalsh eigh slogdet matrix_exp pinv lu lu_factor
ldl_factor matrix_norm cond matrix_rank"""
for _name in FACTORISATIONS.split():
    entry(f"linalg.{_name}", lambda torch, n: (matrix(torch, n),), sizes=MEDIUM)
for _name in ["inv", "det", "cholesky", "qr", "svdvals", "eigvalsh", "eigh", "lu_factor", "matrix_exp"]:
    entry(f"linalg.{_name}.batch", batch(), call=f"linalg.{_name}", sizes=MEDIUM)
entry("linalg.matrix_power", lambda torch, n: (matrix(torch, n), 5), sizes=MEDIUM)
entry("linalg.solve", lambda torch, n: (matrix(torch, n), matrix(torch, n)), sizes=MEDIUM)
entry("linalg.solve.batch", batch(2), call="linalg.solve", sizes=MEDIUM)
entry("linalg.lstsq", lambda torch, n: (matrix(torch, n), matrix(torch, n)), sizes=MEDIUM)
entry("linalg.solve_triangular", lambda torch, n: (matrix(torch, n).tril(), matrix(torch, n)), sizes=MEDIUM,
      upper=False)  # fmt: skip
entry("cholesky_solve", lambda torch, n: (matrix(torch, n), torch.linalg.cholesky(matrix(torch, n))), sizes=MEDIUM)
entry("cholesky_inverse", lambda torch, n: (torch.linalg.cholesky(matrix(torch, n)),), sizes=MEDIUM)
entry("lu_solve", lambda torch, n: (matrix(torch, n), *torch.linalg.lu_factor(matrix(torch, n))), sizes=MEDIUM)
entry("linalg.householder_product", lambda torch, n: torch.geqrf(matrix(torch, n)), sizes=MEDIUM)
entry("linalg.cross", lambda torch, n: tuple(torch.rand(max(1, n // 3), 3) for _ in range(2)))
entry("linalg.vecdot", squares(2))
entry("linalg.multi_dot", lambda torch, n: ([matrix(torch, n) for _ in range(3)],), sizes=MEDIUM)
entry("linalg.vander", lambda torch, n: (torch.rand(max(1, n // 8)),), N=8)
entry("einsum", lambda torch, n: ("bij,bjk->bik", torch.rand(max(1, n // 1024), 32, 32),
                                  torch.rand(max(1, n // 1024), 32, 32)))  # fmt: skip
entry("tensordot", squares(2), dims=2)
entry("inner", lambda torch, n: (torch.rand(side(n), min(side(n), 64)), torch.rand(side(n), min(side(n), 64))))
entry("kron", lambda torch, n: (torch.rand(max(1, side(n) // 8), 8), torch.rand(8, max(1, side(n) // 8))))
entry("baddbmm", lambda torch, n: tuple(torch.rand(max(1, n // 1024), 32, 32) for _ in range(3)))
entry("matmul.heads", lambda torch, n: (torch.rand(max(1, n // 16384), 4, 64, 64),
                                        torch.rand(max(1, n // 16384), 4, 64, 64)), call="matmul")  # fmt: skip
entry("addmv", lambda torch, n: (torch.rand(side(n)), torch.rand(side(n), side(n)), torch.rand(side(n))))
entry("addr", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n)), torch.rand(side(n))))
entry("nn.functional.bilinear", lambda torch, n: (torch.rand(max(1, n // 16), 16), torch.rand(max(1, n // 16), 16),
                                                  torch.rand(8, 16, 16)), sizes=MEDIUM)  # fmt: skip
entry("nn.functional.pdist", lambda torch, n: (torch.rand(min(side(n), 1000), 16),))
entry("nn.functional.pairwise_distance", squares(2))
entry("cdist.1", lambda torch, n: (torch.rand(min(side(n), 1000), 16), torch.rand(min(side(n), 1000), 16)),
      call="cdist", p=1.0)  # fmt: skip
entry("cdist", lambda torch, n: (torch.rand(min(side(n), 1000), 16), torch.rand(min(side(n), 1000), 16)))
for _name in ["fft", "rfft", "fft2"]:
    entry(f"fft.{_name}", squares())
for _name in ["ifft", "irfft", "fftn"]:
    entry(f"fft.{_name}", lambda torch, n: (torch.complex(*squares(2)(torch, n)),))
entry("stft", uniform(-1, 1), n_fft=256, hop_length=64, window=None, return_complex=True, sizes=("64 K",))

# ---- Numbers by chance, new tensors, changes in place

for _name in ["rand", "randn", "randperm", "zeros", "ones", "arange", "hann_window"]:
    entry(_name, lambda torch, n: (n,), gradient=False)
entry("randint", lambda torch, n: (0, 100, (n,)), gradient=False)
entry("full", lambda torch, n: ((n,), 2.5), gradient=False)
entry("linspace", lambda torch, n: (0.0, 1.0, n), gradient=False)
entry("logspace", lambda torch, n: (0.0, 1.0, n), gradient=False)
entry("eye", lambda torch, n: (side(n),), gradient=False)
entry("bernoulli", uniform(0, 1), gradient=False)
entry("multinomial", lambda torch, n: (torch.rand(max(1, n // 64), 64), 4), sizes=MEDIUM, gradient=False)
for _name, _given in {
    "normal_": (),
    "uniform_": (),
    "exponential_": (),
    "log_normal_": (),
    "cauchy_": (),
    "geometric_": (0.5,),
    "random_": (),
    "zero_": (),
    "fill_": (2.0,),
    "add_": (2.0,),
    "mul_": (0.999,),
    "exp_": (),
    "clamp_": (0.2, 0.8),
}.items():
    entry(_name, lambda torch, n, given=_given: (torch.rand(n), *given), call=f"Tensor.{_name}", gradient=False)
entry("copy_", uniform(0, 1, 2), call="Tensor.copy_", gradient=False)
entry("copy_.transposed", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n), side(n)).t()),
      call="Tensor.copy_", gradient=False)  # fmt: skip


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
    for name, op in OPS.items():
        for size in op.sizes:
            n, group = SIZES[size], "small" if size == "small" else "large"
            yield Case(f"{name} | {size} | forward", group, name, forward(op.make, n), "")
            if op.gradient:
                yield Case(f"{name} | {size} | backward", group, name, backward(op.make, n), "")


CASES = list(cases())
