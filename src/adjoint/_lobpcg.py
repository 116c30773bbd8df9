"""A few eigenpairs of large symmetric matrices, by LOBPCG (Knyazev, 2001): torch.lobpcg.

Each step looks for the best eigenvectors in the span of those so far, of their residuals and of the last change: a
small dense problem. The matrix is used in products alone, and may be sparse.
"""

from . import _C, linalg
from ._type_info import finfo
from .autograd import Function, no_grad
from .ops.checks import takes_tensors

METHODS = ("basic", "ortho")


@takes_tensors("A")
def lobpcg(
    A,
    k=None,
    B=None,
    X=None,
    n=None,
    iK=None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """The k greatest (or least) eigenvalues of symmetric matrices, and their eigenvectors, as columns.

    Of A x = e B x, where B, symmetric and positive definite, is given. `X` is a first guess of n columns, `iK`
    something like the inverse of A, which makes it faster. The search ends after `niter` steps or when the residuals
    are below `tol`, relative to the sizes of A and X. `tracker` is called with the solver after each step. The options
    of orthogonalisation that PyTorch has are taken and have no effect.

    >>> import adjoint as torch
    >>> values, vectors = torch.lobpcg(torch.diag(torch.arange(1.0, 10.0)), k=2)
    >>> values
    tensor([9.0000, 8.0000])
    >>> vectors.shape
    torch.Size([9, 2])
    """
    if A.shape[-2:-1] != A.shape[-1:]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    for name, given in (("A", A), ("B", B), ("X", X), ("iK", iK)):
        if given is not None and (given.dtype not in (_C.float32, _C.float64) or given.dtype != A.dtype):
            raise RuntimeError(
                f"lobpcg: expected matrices of float32, or all of float64; {name} is of {given.dtype}, A of {A.dtype}"
            )
    if method is not None and method not in METHODS:
        raise RuntimeError(f"lobpcg: expected method='basic' or 'ortho'; got {method!r}")
    rows = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if k < 1 or n < 1:
        raise ValueError(f"lobpcg: expected at least one eigenpair to look for; got k={k}, n={n}")
    if rows < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    guess = (*A.shape[:-2], rows, n)
    if X is not None and tuple(X.shape) != guess:
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {guess}")
    options = (min(k, n), n, niter, tol, True if largest is None else largest, tracker)
    if A.requires_grad and _C.is_grad_enabled():
        return _Differentiable.apply(A, B, X, iK, options)
    with no_grad():
        return _solve_each(A, B, X, iK, options)


class LOBPCG:
    """A search while it goes on; what a tracker is called with.

    `S` is the basis that was looked in, `X` the eigenvectors found so far, `E` their eigenvalues, `R` the residuals;
    `ivars`, `fvars` and `tvars` hold numbers of the step.
    """

    def __init__(self, A, B, X, iK, options):
        self.A, self.B, self.iK = A, B, iK
        self.k, self.n, niter, tol, self.largest, self.tracker = options
        self.tol = finfo(A.dtype).eps ** 0.5 if tol is None else tol
        self.limit = 1000 if niter is None else niter if niter > 0 else -1  # -1: until it is found
        X = _C.randn(A.shape[-1], self.n, dtype=A.dtype, device=A.device) if X is None else X
        self.ivars = {"istep": 0, "iterations_left": self.limit, "converged_count": 0}
        scale = X.norm()
        self.fvars = {"X_norm": float(scale), "A_norm": float((A @ X).norm() / scale)}
        self.fvars["B_norm"] = 1.0 if B is None else float((B @ X).norm() / scale)
        self.tvars, self.bvars = {}, {}
        self.directions = None
        self.look_in(X)

    def times_B(self, X):
        return X if self.B is None else self.B @ X

    def look_in(self, S):
        """Takes the best approximations in the span of S."""
        self.S = S = self.orthonormal(S)
        values, mixing = linalg.eigh(S.mT @ (self.A @ S))
        if self.largest:
            values, mixing = values.flip(0), mixing.flip(1)
        n = min(self.n, values.shape[0])
        before = getattr(self, "X", None)
        self.E, self.X = values[:n], S @ mixing[:, :n]
        if before is not None:  # what is new in the vectors
            self.directions = self.X - before @ (before.mT @ self.times_B(self.X))
        self.R = self.A @ self.X - self.times_B(self.X) * self.E
        sizes = self.X.norm(dim=0) * (self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"])
        self.tvars["rerr"] = self.R.norm(dim=0) / sizes
        wanted = self.tvars["rerr"][: self.k] < self.tol
        self.ivars["converged_count"] = int(wanted.sum())

    def orthonormal(self, S):
        """A basis of the span of S, orthonormal by B; columns that say nothing new are left out."""
        for _ in range(2):  # once more, for what rounding has left
            sizes = (S * self.times_B(S)).sum(0).clamp(min=0).sqrt()
            S = S[:, sizes > 0] / sizes[sizes > 0]
            gram = S.mT @ self.times_B(S)
            values, vectors = linalg.eigh((gram + gram.mT) / 2)
            kept = values > values.max() * S.shape[1] * finfo(S.dtype).eps
            S = S @ (vectors[:, kept] / values[kept].sqrt())
        return S

    def run(self):
        """Steps until the residuals are small, or there are no more steps."""
        while self.ivars["converged_count"] < self.k and self.ivars["istep"] != self.limit:
            self.ivars["istep"] += 1
            self.ivars["iterations_left"] = self.limit - self.ivars["istep"]
            better = self.R if self.iK is None else self.iK @ self.R
            last = [] if self.directions is None else [self.directions]
            self.look_in(_C.op_object("cat")([self.X, better, *last], 1))
            if self.tracker is not None:
                self.tracker(self)
            if self.ivars["istep"] >= 100_000:
                break
        return self.E[: self.k], self.X[:, : self.k]


def _solve_each(A, B, X, iK, options):
    """The eigenpairs of each matrix of a batch."""
    if A.ndim == 2:
        return LOBPCG(A, B, X, iK, options).run()

    def part(given, i):
        return given if given is None or given.ndim == 2 else given.flatten(0, -3)[i]

    count = A.shape[:-2].numel()
    found = [LOBPCG(*(part(given, i) for given in (A, B, X, iK)), options).run() for i in range(count)]
    stack = _C.op_object("stack")
    values, vectors = (stack(column) for column in zip(*found, strict=True))
    return values.reshape(*A.shape[:-2], *values.shape[1:]), vectors.reshape(*A.shape[:-2], *vectors.shape[1:])


class _Differentiable(Function):
    """With gradients: of eigenvalues that differ from each other and from those that were not asked for."""

    @staticmethod
    def forward(A, B, X, iK, options):
        return _solve_each(A, B, X, iK, options)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.plain = inputs[1] is None
        ctx.save_for_backward(inputs[0], *output)

    @staticmethod
    def backward(ctx, g_values, g_vectors):
        if not ctx.plain:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        A, values, vectors = ctx.saved_tensors
        # de = x' dA x and dx = (e - A)^+ dA x, inverted on what is orthogonal to x: there, adding x x' changes nothing.
        columns = vectors.mT.unsqueeze(-1)
        outer = columns * columns.mT
        across = g_vectors.mT.unsqueeze(-1)
        across = across - columns * (columns.mT @ across)
        eye = _C.op_object("eye")(A.shape[-1], dtype=A.dtype, device=A.device)
        size = A.detach().norm(dim=(-2, -1)).reshape(*A.shape[:-2], 1, 1, 1)
        shifted = values.unsqueeze(-1).unsqueeze(-1) * eye + size * outer - A.unsqueeze(-3)
        moved = linalg.solve(shifted, across).squeeze(-1).mT
        gradient = (vectors * g_values.unsqueeze(-2) + moved) @ vectors.mT
        return (gradient + gradient.mT) / 2, None, None, None, None
