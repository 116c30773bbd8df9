"""The main kernels of the sweep in other types (float64, half, complex, integers) and on transposed, strided views."""

from sweep_entry import LARGE, entry, places, side, squares, uniform


def typed(name, arguments, dtype):
    """The entry "name.dtype": the float tensors among `arguments` converted."""

    def make(torch, n):
        return tuple(a.to(getattr(torch, dtype)) if isinstance(a, torch.Tensor) and a.is_floating_point() else a
                     for a in arguments(torch, n))  # fmt: skip

    entry(f"{name.rpartition('.')[2]}.{dtype}", make, call=name, sizes=LARGE)


# ---- By element

DOUBLE = """exp log sin tanh sigmoid erf sqrt erfinv lgamma special.bessel_j0 special.ndtri nn.functional.gelu relu"""
for _name in DOUBLE.split():
    typed(_name, uniform(0.1, 0.9), "float64")
for _name in ["exp", "tanh", "relu", "nn.functional.gelu", "nn.functional.silu", "sqrt", "neg"]:
    typed(_name, uniform(0.1, 0.9), "bfloat16")
for _name in ["mul", "div", "pow", "maximum", "lt"]:
    typed(_name, uniform(0.5, 2.0, 2), "float64")
for _name in ["add", "mul", "div", "lt", "pow"]:
    typed(_name, uniform(0.5, 2.0, 2), "bfloat16")
for _name in ["mul", "exp", "nn.functional.gelu"]:
    typed(_name, uniform(0.5, 2.0, 2 if _name == "mul" else 1), "half")
for _name in ["mul", "div", "exp", "abs", "sqrt", "reciprocal", "angle", "tanh"]:
    _count = 2 if _name in ("mul", "div") else 1
    entry(f"{_name}.complex64", lambda torch, n, count=_count: tuple(torch.complex(t, t + 0.5)
          for t in uniform(0.2, 1, count)(torch, n)), call=_name, sizes=LARGE)  # fmt: skip
for _name in ["add", "mul", "floor_divide", "remainder", "lt", "maximum"]:
    entry(
        f"{_name}.int64", lambda torch, n: (places(torch, n, 100), places(torch, n, 100) + 1), call=_name, sizes=LARGE
    )
entry("add.int32", lambda torch, n: (places(torch, n, 100).int(), places(torch, n, 100).int()), call="add", sizes=LARGE)
entry("div.int64", lambda torch, n: (places(torch, n, 100), places(torch, n, 100) + 1), call="div", sizes=LARGE)
entry("add.mixed", lambda torch, n: (torch.rand(n), places(torch, n, 100)), call="add", sizes=LARGE)
entry("mul.row", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n))), call="mul", sizes=LARGE)
entry("mul.column", lambda torch, n: (torch.rand(side(n), side(n)), torch.rand(side(n), 1)), call="mul", sizes=LARGE)
entry(
    "add.transposed",
    lambda torch, n: (torch.rand(side(n), side(n)).t(), torch.rand(side(n), side(n))),
    call="add",
    sizes=LARGE,
)
entry("add.strided", lambda torch, n: (torch.rand(side(n), 2 * side(n))[:, ::2], torch.rand(side(n), side(n))),
      call="add", sizes=LARGE)  # fmt: skip
entry("exp.transposed", lambda torch, n: (torch.rand(side(n), side(n)).t(),), call="exp", sizes=LARGE)
entry("exp.strided", lambda torch, n: (torch.rand(side(n), 2 * side(n))[:, ::2],), call="exp", sizes=LARGE)
for _from, _to in [("float32", "float64"), ("float32", "bfloat16"), ("bfloat16", "float32"), ("float32", "half"),
                   ("float32", "int64"), ("int64", "float32"), ("float32", "bool")]:  # fmt: skip
    entry(f"to.{_from}.{_to}", lambda torch, n, source=_from, target=_to: (
        (torch.rand(n) * 100).to(getattr(torch, source)), getattr(torch, target)),
      call="Tensor.to", sizes=LARGE)  # fmt: skip

# ---- Reductions, scans, sorting

for _dtype in ["float64", "bfloat16"]:
    for _name in ["sum", "mean", "amax", "var", "norm"]:
        typed(_name, uniform(0.5, 1.5), _dtype)
    for _name in ["softmax", "log_softmax", "cumsum", "logsumexp", "argmax", "sort"]:
        typed(_name, lambda torch, n: (torch.rand(side(n), side(n)), 1), _dtype)
    typed("mm", lambda torch, n: tuple(torch.rand(min(side(n), 512), min(side(n), 512)) for _ in range(2)), _dtype)
    typed("nn.functional.layer_norm", lambda torch, n: (torch.rand(side(n), side(n)), (side(n),), torch.rand(side(n)),
                                                        torch.rand(side(n))), _dtype)  # fmt: skip
for _name in ["sum", "amax", "cumsum", "sort"]:
    entry(f"{_name}.int64", lambda torch, n: (places(torch, n, 1000), 0), call=_name, sizes=LARGE)
entry("sum.bool", lambda torch, n: (torch.rand(n) > 0.5,), call="sum", sizes=LARGE)
entry("sum.complex64", lambda torch, n: (torch.complex(*uniform(0, 1, 2)(torch, n)),), call="sum", sizes=LARGE)
entry("sum.rows.transposed", lambda torch, n: (torch.rand(side(n), side(n)).t(), 1), call="sum", sizes=LARGE)
entry("softmax.transposed", lambda torch, n: (torch.rand(side(n), side(n)).t(), 1), call="softmax", sizes=LARGE)
entry("cumsum.transposed", lambda torch, n: (torch.rand(side(n), side(n)).t(), 1), call="cumsum", sizes=LARGE)

# ---- Products

entry("mm.transposed", lambda torch, n: (torch.rand(min(side(n), 512), min(side(n), 512)).t(),
                                         torch.rand(min(side(n), 512), min(side(n), 512)).t()),
      call="mm", sizes=LARGE)  # fmt: skip
entry("mm.complex64", lambda torch, n: tuple(torch.complex(*squares(2)(torch, min(n, 1 << 16))) for _ in range(2)),
      call="mm", sizes=LARGE)  # fmt: skip
entry("mm.int64", lambda torch, n: tuple(torch.randint(0, 9, (min(side(n), 64), min(side(n), 64))) for _ in range(2)),
      call="mm", sizes=LARGE)  # fmt: skip
entry("where.number", lambda torch, n: (torch.rand(n) > 0.5, torch.rand(n), 0.0), call="where", sizes=LARGE)
entry("clone.transposed", lambda torch, n: (torch.rand(side(n), side(n)).t(),), call="clone", sizes=LARGE)
