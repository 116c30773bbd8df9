"""The array API standard, 2024.12: `adjoint.array_api` against NumPy, whose namespace is one of the standard's."""

import math

import numpy as np
import pytest
import torch

import adjoint
from adjoint import array_api as xp

from .array_api import cases
from .array_api.standard import SIGNATURES, check, convert, failure, find, signature_failure
from .processes import script

DEFAULTS = {"float64": "float32", "complex128": "complex64"}


# ---- functions


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_functions(family):
    report = check(xp, [cases.FAMILIES[family]], DEFAULTS)
    assert len(report) >= 5
    assert {name: failures[:3] for name, (_, failures) in report.items() if failures} == {}


def test_all_functions_have_cases():
    called = {case.name for family in cases.FAMILIES.values() for case in family(cases.Values())}
    shared = {f"linalg.{name}" for name in ("matmul", "tensordot", "vecdot")}
    assert all(find(xp, name) is find(xp, name.removeprefix("linalg.")) for name in shared)
    alone = {"empty", "empty_like", "finfo", "from_dlpack", "iinfo"}  # below
    assert set(SIGNATURES) - called == shared | alone


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    assert signature_failure(xp, name) is None


def torchs_own(case):
    """Why an operator of tensors is not the standard's: it is torch's."""
    types = {value.dtype.name for value in case.args if isinstance(value, np.ndarray)}
    if types & {"uint16", "uint32", "uint64"}:
        return "types"  # without arithmetic in torch
    if case.name == "__matmul__":
        return len(types) > 1 and "products"  # of one type alone
    return len(types) > 1 and any(np.ndim(value) == 0 for value in case.args) and "promotion"  # of 0-d tensors


def test_operators():
    """Where operators differ from the standard, torch's differ in the same way."""
    failures = [failed for _, failed in check(xp, [cases.operators], DEFAULTS).values()]
    reasons = [torchs_own(case) for part in failures for case, _ in part]
    assert set(reasons) == {"types", "products", "promotion"}


@pytest.mark.parametrize("case", [c for c in cases.operators(cases.Values(1)) if torchs_own(c) == "promotion"][::29])
def test_operators_are_torchs(case):
    ours, theirs = (find(None, case.name)(*(library.tensor(x) for x in case.args)) for library in (adjoint, torch))
    assert str(ours.dtype) == str(theirs.dtype)
    assert failure(xp, case, None) is None or ours.tolist() == theirs.tolist()


# ---- creation, types, and what the namespace says of itself


def test_empty():
    assert xp.empty(3).shape == (3,)
    assert xp.empty((2, 3), dtype=xp.uint64).dtype == xp.uint64
    assert xp.empty_like(xp.zeros((2, 3), dtype=xp.int8)).dtype == xp.int8
    assert xp.empty_like(xp.zeros(2), dtype=xp.bool, device="meta").device.type == "meta"


def test_devices():
    meta = xp.asarray([1.0], device="meta")
    for made in (xp.zeros_like(meta), xp.sin(meta), xp.add(meta, 1), xp.ones(2, device=meta.device), xp.sum(meta)):
        assert made.device == meta.device
    assert xp.asarray([1.0]).to_device("meta").device.type == "meta"
    assert xp.astype(xp.ones(2), xp.float64, device="meta").device.type == "meta"
    with pytest.raises(ValueError, match="stream"):
        xp.ones(2).to_device("cpu", stream=1)


def test_asarray():
    x = xp.asarray([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    assert xp.asarray(x, copy=True) is not x
    assert xp.asarray(memoryview(np.array([1.5, 2.5]))).tolist() == [1.5, 2.5]
    assert xp.asarray(np.float64(2.0)).dtype == xp.float64
    values = np.ones(2)
    shared = xp.asarray(values, copy=False)
    values[0] = 5
    assert shared[0] == 5
    frozen = np.ones(2)
    frozen.flags.writeable = False
    xp.asarray(frozen)[0] = 7
    assert frozen[0] == 1
    for wrong in ({"dtype": xp.float64}, {"device": "meta"}):
        with pytest.raises(ValueError, match="copy"):
            xp.asarray(x, copy=False, **wrong)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1, 2], copy=False)
    with pytest.raises(TypeError, match="asarray"):
        xp.asarray("text")


def test_from_dlpack():
    values = np.arange(3.0)
    shared = xp.from_dlpack(values)
    values[0] = 9
    assert shared.tolist() == [9, 1, 2]
    assert xp.from_dlpack(values, copy=True).tolist() == [9, 1, 2]
    assert np.from_dlpack(xp.ones(2)).tolist() == [1, 1]
    assert xp.from_dlpack(xp.ones(2), device="cpu").tolist() == [1, 1]


@pytest.mark.parametrize("name", cases.FLOATING)
def test_finfo(name):
    ours, numpys = xp.finfo(getattr(xp, name)), np.finfo(name)
    assert ours == xp.finfo(xp.ones(1, dtype=getattr(xp, name)))
    for part in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(ours, part) == getattr(numpys, part)
    assert ours.dtype == getattr(xp, numpys.dtype.name)


@pytest.mark.parametrize("name", cases.INTEGERS)
def test_iinfo(name):
    ours, numpys = xp.iinfo(getattr(xp, name)), np.iinfo(name)
    assert (ours.bits, ours.max, ours.min, ours.dtype) == (numpys.bits, numpys.max, numpys.min, getattr(xp, name))


def test_constants_and_versions():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(xp.nan)
    assert xp.__array_api_version__ == "2024.12"
    x = adjoint.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2022.12") is xp is adjoint.array_api
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="2020.01")


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.default_device() == adjoint.device("cpu")
    assert info.devices() == [adjoint.device("cpu"), adjoint.device("meta")]
    assert info.default_dtypes()["real floating"] == xp.float32
    adjoint.set_default_dtype(adjoint.float64)
    try:
        assert info.default_dtypes()["complex floating"] == xp.complex128
        assert xp.linspace(0, 1, 2).dtype == xp.float64
    finally:
        adjoint.set_default_dtype(adjoint.float32)
    assert set(info.dtypes()) == set(cases.ALL)
    numpys = np.__array_namespace_info__()
    for kind in ("bool", "integral", ("real floating", "complex floating"), "signed integer", "unsigned integer"):
        assert set(info.dtypes(kind=kind)) == set(numpys.dtypes(kind=kind))
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="number")
    with pytest.raises(ValueError, match="devices"):
        info.dtypes(device="cuda")


def test_importing_the_package_does_not_load_it():
    assert script("import adjoint, sys; print('adjoint.array_api' in sys.modules)").stdout.split() == ["False"]


# ---- errors


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TypeError, lambda: xp.add(1, 2)),
        (TypeError, lambda: xp.add(xp.ones(2), np.ones(2))),
        (TypeError, lambda: xp.sin([1.0])),
        (TypeError, lambda: xp.add(xp.ones(2, dtype=xp.uint64), xp.ones(2, dtype=xp.int8))),
        (TypeError, lambda: xp.result_type("float32")),
        (TypeError, lambda: xp.isdtype("float32", "numeric")),
        (TypeError, lambda: xp.isdtype(xp.float32, 3)),
        (TypeError, lambda: xp.can_cast(xp.float32, "float64")),
        (TypeError, lambda: xp.repeat(xp.ones(2), [1, 2])),
        (TypeError, lambda: xp.negative(xp.ones(2, dtype=xp.uint16, device="meta"))),
        (ValueError, lambda: xp.result_type()),
        (ValueError, lambda: xp.result_type(1, 2.0)),
        (ValueError, lambda: xp.isdtype(xp.float32, "floats")),
        (ValueError, lambda: xp.concat([])),
        (ValueError, lambda: xp.concat([xp.ones(()), xp.ones(())])),
        (ValueError, lambda: xp.concat([xp.ones(2), xp.ones((2, 2))])),
        (ValueError, lambda: xp.squeeze(xp.ones((2, 1)), 0)),
        (ValueError, lambda: xp.nonzero(xp.ones(()))),
        (ValueError, lambda: xp.cumulative_sum(xp.ones((2, 2)))),
        (ValueError, lambda: xp.take(xp.ones((2, 2)), xp.asarray([0]))),
        (ValueError, lambda: xp.matmul(xp.ones(()), xp.ones(2))),
        (ValueError, lambda: xp.vecdot(xp.ones(3), xp.ones(1))),
        (ValueError, lambda: xp.matrix_transpose(xp.ones(2))),
        (ValueError, lambda: xp.linalg.outer(xp.ones((2, 2)), xp.ones(2))),
        (ValueError, lambda: xp.reshape(xp.ones((2, 3)).mT, (6,), copy=False)),
    ],
)
def test_errors(error, call):
    with pytest.raises(error) as caught:
        call()
    assert "expected" in str(caught.value) or "convert" in str(caught.value)


def test_limits_of_other_kinds():
    for function, dtype in ((xp.finfo, xp.int8), (xp.iinfo, xp.float32), (xp.finfo, "text"), (xp.iinfo, 3)):
        with pytest.raises(TypeError):
            function(dtype)


# ---- gradients

WITHOUT_GRADIENT = {"argmax", "argmin", "argsort", "isfinite", "isinf", "isnan", "signbit", "nonzero"}
WITHOUT_GRADIENT |= {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "all", "any"}
WITHOUT_GRADIENT |= {"count_nonzero", "searchsorted", "zeros_like", "ones_like", "full_like", "result_type", "can_cast"}
WITHOUT_GRADIENT |= {"linalg.matrix_rank"}


def test_results_keep_gradients():
    """Every function of arrays of floats gives what can be differentiated."""
    seen = set()
    for case in (case for family in cases.FAMILIES.values() for case in family(cases.Values())):
        arrays = [x for x in case.args if isinstance(x, np.ndarray) and x.size]
        if case.name in seen or not arrays or any(x.dtype != "float64" for x in arrays):
            continue
        seen.add(case.name)
        args = [convert(xp, x) for x in case.args]
        args = [x.requires_grad_() if isinstance(x, adjoint.Tensor) else x for x in args]
        result = find(xp, case.name)(*args, **{key: convert(xp, x) for key, x in case.options.items()})
        parts = result if isinstance(result, tuple | list) else (result,)
        differentiable = any(getattr(part, "requires_grad", False) for part in parts)
        assert differentiable == (case.name not in WITHOUT_GRADIENT), case
    assert len(seen) > 110


@pytest.mark.parametrize(
    "function",
    [
        lambda x: xp.remainder(x, 0.7),
        lambda x: xp.clip(x, -0.5, xp.asarray([0.5, 1.0, 2.0], dtype=xp.float64)),
        lambda x: xp.where(x > 0, x, 2 * x),
        lambda x: xp.prod(x),
        lambda x: xp.cumulative_prod(x, include_initial=True),
        lambda x: xp.unique_values(x),
        lambda x: xp.sort(x, descending=True),
        lambda x: xp.asarray([x[0], [1.0, 2.0][0], x[1] * x[2]]),
        lambda x: xp.linalg.solve(xp.eye(3, dtype=xp.float64) + xp.linalg.outer(x, x), x),
        lambda x: xp.vecdot(x, x),
        lambda x: xp.std(x, correction=1.0),
        lambda x: xp.real(xp.fft.rfft(x)),
    ],
)
def test_gradients(function):
    x = adjoint.tensor([0.3, -1.2, 1.9], dtype=adjoint.float64, requires_grad=True)
    assert adjoint.autograd.gradcheck(function, (x,))
    assert adjoint.autograd.gradgradcheck(function, (x,))


def test_remainder_of_zero_has_a_gradient():
    x = adjoint.tensor([0.0, 2.0], requires_grad=True)
    result = xp.remainder(x, -1.0)
    assert np.signbit(result.detach().numpy()).all()
    result.sum().backward()
    assert x.grad.tolist() == [1, 1]


# ---- who uses it

IN_SCIPY = """
import adjoint as torch
from scipy import fft, integrate, special, stats

x = torch.tensor([0.3, -1.2, 1.9, 0.7], dtype=torch.float64, requires_grad=True)
functions = [stats.skew, stats.zscore, special.logsumexp, special.softmax, special.erf, integrate.trapezoid, fft.rfft]
for function in functions:
    result = function(x)
    assert isinstance(result, torch.Tensor) and result.requires_grad, function
    wanted = torch.as_tensor(function(x.detach().numpy()))
    assert torch.allclose(result.detach(), wanted), function
assert torch.autograd.gradcheck(stats.kurtosis, (x,))
print("done")
"""


def test_scipy():
    assert script(IN_SCIPY, environment={"SCIPY_ARRAY_API": "1"}).stdout.split() == ["done"]
