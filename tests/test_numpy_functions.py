"""NumPy's functions of tensors: what they give of torch's, and gradients where torch refuses."""

import threading
import warnings

import numpy as np
import pytest
import torch

import adjoint

# Of t = [1, 2, 3], m = a symmetric matrix, i = integers, b = truth values, a = an array.
AS_IN_TORCH = """
np.sin(t) | np.add(t, 1) | np.add(a, t) | np.multiply(np.float64(2), t) | np.float64(2) * t | np.float32(2) * t
np.int64(2) * t | t * a | a == t | np.add.reduce(t) | np.add.accumulate(t) | np.add.outer(t, t) | np.modf(t)
np.isnan(t) | np.greater(t, 1) | np.matmul(m, m) | np.dot(m, m) | np.concatenate([t, t]) | np.stack([t, a])
np.vstack([t, t]) | np.argmax(t) | np.argsort(t) | np.sort(t) | np.cumsum(t) | np.where(t > 1, t, 0) | np.where(t > 1)
np.clip(t, 0, 1) | np.round(t) | np.reshape(t, (3, 1)) | np.ravel(m) | np.squeeze(m) | np.expand_dims(t, 0)
np.swapaxes(m, 0, 1) | np.repeat(t, 2) | np.tile(t, 2) | np.roll(t, 1) | np.diag(t) | np.trace(m)
np.take(t, [0, 1]) | np.unique(t) | np.linalg.norm(t) | np.linalg.inv(m) | np.linalg.det(m) | np.fft.fft(t)
np.einsum('i,i->', t, t) | np.outer(t, t) | np.kron(t, t) | np.vdot(t, t) | np.broadcast_to(t, (2, 3))
np.zeros_like(t) | np.copy(t) | np.shape(t) | np.ndim(t) | np.median(t) | np.percentile(t, 50) | np.allclose(t, t)
np.array_equal(t, t) | np.isclose(t, t) | np.split(t, 3) | np.diff(t) | np.gradient(t) | np.trapezoid(t)
np.exp(i) | np.sin(b)
np.sum([t, t]) | np.array([t[0], t[1]]) | np.meshgrid(t, t) | np.triu(m) | np.append(t, t) | np.cov(m)
np.average(t) | np.bincount(i) | np.interp(t, t, t) | np.searchsorted(t, t) | np.pad(t, 1)
np.polyfit(t, a, 1) | np.select([t > 1], [t])
np.delete(t, 0) | np.ones(3, like=t) | np.asarray([1.0], like=t) | np.concatenate([t, t], axis=4) | np.stack([t, m])
np.dot(t, m)
"""


def names(library, requires_grad=False):
    t, m = library.tensor([1.0, 2.0, 3.0]), library.tensor([[1.0, 2.0], [2.0, 5.0]])
    i, b = library.tensor([1, 2, 3]), library.tensor([True, False, True])
    if requires_grad:
        t.requires_grad_(), m.requires_grad_()
    return {"np": np, "t": t, "m": m, "i": i, "b": b, "a": np.array([1.0, 2.0, 3.0]), "torch": library}


def outcome(call, scope):
    """What comes of a call, as data: the kind of each result, its type, shape and values; or the error."""

    def seen(value):
        if isinstance(value, tuple | list):
            return [seen(one) for one in value]
        kind = "Tensor" if isinstance(value, torch.Tensor | adjoint.Tensor) else type(value).__name__
        if not hasattr(value, "dtype"):
            return kind, value
        dtype = str(value.dtype).removeprefix("torch.")
        return kind, dtype, tuple(value.shape), np.round(np.asarray(value).astype(complex), 5).tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's __array_wrap__ has an old signature
        try:
            return seen(eval(call, scope))
        except Exception as error:
            return type(error).__name__


def calls(text):
    return [call.strip() for line in text.strip().splitlines() for call in line.split("|")]


@pytest.mark.parametrize("call", calls(AS_IN_TORCH))
def test_without_gradients_as_in_torch(call):
    assert outcome(call, names(adjoint)) == outcome(call, names(torch))


WITH_GRADIENT = """
np.concatenate([t, t]) | np.concatenate([m, m], axis=1) | np.concatenate([t, a, i]) | np.concatenate([m, t], axis=None)
np.stack([t, t], axis=1) | np.vstack([t, a]) | np.hstack([t, t]) | np.dstack([t, t]) | np.column_stack([t, t])
np.append(t, 4.0) | np.where(t > 1.5, t, 0) | np.where(a > 1, a, t)
np.broadcast_to(t, (2, 3)) | np.broadcast_to(t[0], 3)
np.meshgrid(t, a) | np.atleast_1d(t[0]) | np.atleast_2d(t) | np.atleast_3d(t) | np.expand_dims(t, (0, 2)) | np.flip(m)
np.moveaxis(np.outer(t, t)[None], 0, -1)
np.roll(t, 1) | np.roll(m, (1, 1), (0, 1)) | np.repeat(t, 2) | np.repeat(m, [1, 2], axis=1) | np.tile(t, (2, 2))
np.take(m, [0, 3]) | np.take(m, [[1, 0]], axis=1) | np.take_along_axis(m, np.array([[1], [0]]), axis=1) | np.sort(t)
np.sort(np.tril(m), axis=None)[1:] | np.tril(m) | np.triu(m, 1)
np.diag(t, 1) | np.diag(m) | np.diagonal(m) | np.trace(m)
np.cumsum(m) | np.cumsum(m, axis=1) | np.cumprod(t) | np.diff(t) | np.diff(m, axis=0) | np.trapezoid(t)
np.trapezoid(t, a ** 2) | np.dot(t, t) | np.dot(m, m) | np.dot(m, m[0]) | np.dot(t, 2) | np.dot(m, np.ones((3, 2, 4)))
np.inner(m, m) | np.vdot(m, m) | np.outer(m, t) | np.kron(t, m) | np.tensordot(m, m) | np.tensordot(m, m, axes=(0, 1))
np.einsum('ij,jk->ik', m, m) | np.linalg.norm(t) | np.linalg.norm(m, 'nuc') | np.linalg.norm(m, axis=1, keepdims=True)
np.linalg.inv(m) | np.linalg.det(m) | np.linalg.solve(m, a[:2]) | np.linalg.cholesky(m + m.T) | np.linalg.pinv(m)
np.linalg.matrix_power(m, 3) | np.linalg.eigvalsh(m + m.T) | np.linalg.svd(m, compute_uv=False) | np.linalg.slogdet(m)
np.fft.fft(t) | np.fft.rfft(t, 4) | np.fft.fftn(m) | np.fft.ifft(t, norm='ortho') | np.linalg.matmul(m, m)
"""
REDUCTIONS = """
np.sum(t) | np.sum(m, axis=0) | np.sum(m, axis=(0, 1), keepdims=True) | np.sum(t, dtype=np.float64) | np.mean(m, axis=0)
np.prod(m, axis=1) | np.std(t) | np.std(m, axis=0, ddof=1) | np.var(t) | np.max(t) | np.min(m, axis=0)
np.amax(m, axis=1)
"""


@pytest.mark.parametrize("call", calls(WITH_GRADIENT) + calls(REDUCTIONS))
def test_gradients_are_kept(call):
    """Values are NumPy's, and gradients those of finite differences; torch refuses."""
    scope = names(adjoint, requires_grad=True)
    assert outcome(call, names(torch, requires_grad=True)) in ("RuntimeError", "TypeError", "ValueError")
    result = eval(call, scope)
    parts = result if isinstance(result, tuple | list) else [result]
    arrays = scope | {"t": scope["t"].detach().numpy(), "m": scope["m"].detach().numpy()}
    expected = eval(call, arrays)
    for part, one in zip(parts, expected if isinstance(expected, tuple | list) else [expected], strict=True):
        assert isinstance(part, adjoint.Tensor)
        assert np.asarray(part.detach()).dtype == np.asarray(one).dtype
        np.testing.assert_allclose(part.detach().numpy(), one, rtol=1e-4, atol=1e-6)

    def function(t, m):
        made = eval(call, scope | {"t": t, "m": m})
        return tuple(x for x in (made if isinstance(made, tuple | list) else [made]) if x.requires_grad)

    inputs = [scope[name].detach().double().requires_grad_() for name in "tm"]
    assert adjoint.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("call", calls("np.any(t) | np.all(m, axis=0) | np.max(i) | np.sum(i) | np.mean(t)"))
def test_reductions_without_gradients(call):
    scope = names(adjoint)
    result = eval(call, scope)
    expected = eval(call, scope | {name: scope[name].numpy() for name in "tmi"})
    assert isinstance(result, adjoint.Tensor)
    np.testing.assert_allclose(result.numpy(), expected)


@pytest.mark.parametrize("call", ["np.median(t)", "np.histogram(t)", "np.interp(t, t, t)", "np.cov(m)"])
def test_functions_without_gradient_refuse_with_advice(call):
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor.*np\.\w+\(\) has no form"):
        eval(call, names(adjoint, requires_grad=True))


def test_options_that_tensors_do_not_have():
    t = adjoint.ones(3, requires_grad=True)
    with pytest.raises(TypeError, match=r"np\.concatenate\(\): of tensors, .*'casting'"):
        np.concatenate([t, t], casting="no")
    with pytest.raises(TypeError, match=r"np\.sum\(\): of tensors"):
        np.sum(t, out=np.empty(()))


def test_other_errors_stay():
    t = adjoint.ones(3, requires_grad=True)
    with pytest.raises((RuntimeError, ValueError), match=r"size|dimension"):
        np.concatenate([t, adjoint.ones(2, 2)])
    with pytest.raises(TypeError):
        np.ones(3, like=t)


def test_nothing_is_recorded_where_nothing_is_wanted():
    t = adjoint.ones(3, requires_grad=True)
    with adjoint.no_grad():
        assert isinstance(np.concatenate([t, t]), np.ndarray)


def test_another_type_has_the_say():
    class Other:
        def __array_function__(self, function, types, args, kwargs):
            return "other"

    assert np.concatenate([adjoint.ones(2), Other()]) == "other"


def test_threads_do_not_disturb_one_another():
    t = adjoint.ones(3, requires_grad=True)
    results = []
    work = [threading.Thread(target=lambda: results.extend(np.stack([t, t]) for _ in range(200))) for _ in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(results) == 800
    assert all(isinstance(result, adjoint.Tensor) for result in results)


OPERATORS = calls(
    "t * a | a * t | t + a | a - t | a / t | t / a | a ** t | t ** a | m @ a[:2] | a[:2] @ m | t // a | a % t"
)


@pytest.mark.parametrize("call", [*OPERATORS, "t * np.arange(3)", "np.array(2.0) * t", "t - np.array([[1], [2]])"])
def test_operators_with_arrays_keep_gradients(call):
    """The result is the one without gradients, in NumPy's type."""
    ours = eval(call, names(adjoint, requires_grad=True))
    assert ours.requires_grad
    assert outcome("x", {"x": ours.detach()}) == outcome(call, names(adjoint))


def test_gradients_of_operators_with_arrays():
    x = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    weights = np.array([0.5, 1.0, 2.0])
    product = weights * x
    weights[0] = 100  # what was saved is a copy
    (product**2).sum().backward()
    assert x.grad.dtype == adjoint.float32
    assert x.grad.tolist() == [0.5, 4.0, 24.0]
