"""lobpcg() beside torch and beside eigh(): eigenpairs, generalised ones, batches, gradients, and what it refuses."""

import numpy as np
import pytest
import scipy.linalg
import torch

import adjoint


def symmetric(L, n=20, seed=0, dtype=np.float64):
    numbers = np.random.default_rng(seed).standard_normal((n, n))
    return L.from_numpy((numbers @ numbers.T + np.eye(n)).astype(dtype))


def aligned(vectors):
    """Eigenvectors with the sign of their greatest element taken out."""
    vectors = np.asarray(vectors.detach())
    greatest = np.take_along_axis(vectors, np.abs(vectors).argmax(-2, keepdims=True), -2)
    return vectors * np.sign(greatest)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_eigenpairs(k, largest):
    A = symmetric(adjoint)
    values, vectors = adjoint.lobpcg(A, k=k, largest=largest)
    theirs = torch.lobpcg(symmetric(torch), k=k, largest=largest)
    np.testing.assert_allclose(values, theirs[0], rtol=1e-9)
    np.testing.assert_allclose(aligned(vectors), aligned(theirs[1]), atol=1e-5)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-4)
    np.testing.assert_allclose(vectors.mT @ vectors, np.eye(k), atol=1e-10)


def test_of_two_matrices():
    B = np.diag(np.arange(1.0, 21.0))
    values, vectors = adjoint.lobpcg(symmetric(adjoint), k=2, B=adjoint.from_numpy(B), tol=1e-10)
    expected = scipy.linalg.eigh(np.asarray(symmetric(adjoint)), B)[0][::-1][:2]
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(vectors).T @ B @ np.asarray(vectors), np.eye(2), atol=1e-9)


def test_batches_guesses_and_types():
    A = symmetric(adjoint)
    values, vectors = adjoint.lobpcg(adjoint.stack([A, 2 * A]), k=2)
    assert values.shape == (2, 2)
    assert vectors.shape == (2, 20, 2)
    np.testing.assert_allclose(values[1], 2 * values[0], rtol=1e-7)
    guess = adjoint.linalg.eigh(A)[1][:, -3:]
    found = adjoint.lobpcg(A, k=2, X=guess, niter=1)
    np.testing.assert_allclose(found[0], values[0], rtol=1e-9)
    preconditioned = adjoint.lobpcg(A, k=2, iK=adjoint.diag(1 / A.diag()), method="basic", tol=1e-9)[0]
    np.testing.assert_allclose(preconditioned, values[0], rtol=1e-8)
    single = adjoint.lobpcg(symmetric(adjoint, dtype=np.float32), k=2)
    assert single[0].dtype == adjoint.float32
    np.testing.assert_allclose(single[0], values[0], rtol=1e-4)
    assert adjoint.lobpcg(A)[0].shape == (1,)
    assert adjoint.lobpcg(A, k=2, n=4)[1].shape == (20, 2)
    assert adjoint.lobpcg(A, X=guess)[1].shape == (20, 3)


def test_equal_eigenvalues():
    values, vectors = adjoint.lobpcg(adjoint.eye(12, dtype=adjoint.float64), k=3)
    np.testing.assert_allclose(values, np.ones(3))
    np.testing.assert_allclose(vectors.mT @ vectors, np.eye(3), atol=1e-12)
    assert adjoint.lobpcg(adjoint.zeros(9, 9), k=2)[0].tolist() == [0.0, 0.0]


def test_a_tracker_sees_the_steps():
    steps = []
    adjoint.lobpcg(symmetric(adjoint), k=2, niter=3, tracker=lambda search: steps.append(dict(search.ivars)))
    assert [step["istep"] for step in steps] == [1, 2, 3]
    assert steps[-1]["iterations_left"] == 0


def test_gradients():
    def gradients(L):
        A = symmetric(L).requires_grad_()
        values, vectors = L.lobpcg(A, k=2, tol=1e-10)
        # Of both signs of a vector.
        weights = L.arange(40.0, dtype=L.float64).reshape(20, 2).sin()
        return [L.autograd.grad(y, A, retain_graph=True)[0] for y in (values.sum(), ((vectors**2) * weights).sum())]

    for mine, theirs in zip(gradients(adjoint), gradients(torch), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_gradients_are_those_of_eigh():
    """To the second order."""
    weights = adjoint.linspace(1, 2, 12, dtype=adjoint.float64).unsqueeze(1)

    def of_lobpcg(A):
        values, vectors = adjoint.lobpcg((A + A.mT) / 2, k=2, tol=1e-13)
        return (values**2).sum() + (vectors**4 * weights).sum()

    def of_eigh(A):
        values, vectors = adjoint.linalg.eigh((A + A.mT) / 2)
        return (values[-2:] ** 2).sum() + (vectors[:, -2:] ** 4 * weights).sum()

    A = symmetric(adjoint, 12).requires_grad_()
    found = []
    for function in (of_lobpcg, of_eigh):
        (first,) = adjoint.autograd.grad(function(A), A, create_graph=True)
        (second,) = adjoint.autograd.grad((first * first.detach().cos()).sum(), A)
        found.append((first.detach(), second))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        (lambda L: L.lobpcg(L.ones(5, 20), k=1), AssertionError, "A must be square, got shape "),
        (lambda L: L.lobpcg(symmetric(L), k=7), ValueError, "LOBPCG algorithm is not applicable when the number of A"),
        (lambda L: L.lobpcg(symmetric(L), X=L.ones(19, 2).double()), AssertionError, "X shape mismatch: got"),
        (lambda L: L.lobpcg(symmetric(L), X=L.ones(20, 2)), RuntimeError, ""),
        (lambda L: L.lobpcg(symmetric(L) + 0j, k=2), RuntimeError, ""),
        (lambda L: L.lobpcg(symmetric(L).int(), k=2), RuntimeError, ""),
        (
            lambda L: L.lobpcg(symmetric(L).requires_grad_(), B=L.eye(20).double())[0].sum().backward(),
            ValueError,
            "lobpcg.backward does not support backward with B != I yet",
        ),
    ],
)
def test_errors(wrong, kind, words):
    for library in (torch, adjoint):
        with pytest.raises(kind, match=f"^{words}"):
            wrong(library)
