"""LBFGS: a quasi-Newton method that remembers the last few steps, with a line search if wanted."""

from .._refusal import missing
from ..autograd.grad_mode import enable_grad, no_grad
from ..ops import language as _ops
from ._wolfe import STEPS, Point, strong_wolfe
from .optimizer import Optimizer, check_lr, checked_state


class LBFGS(Optimizer):
    """A quasi-Newton method: the curvature is estimated from the last `history_size` steps.

    Each `step` takes several iterations, and asks `closure` for loss and gradient at each of them.

    >>> import adjoint as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w * w).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(5., grad_fn=<SumBackward0>)
    >>> bool(w.abs().max() < 1e-6)
    True
    """

    def __init__(
        self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
        line_search_fn=None,
    ):  # fmt: skip
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure):
        """Takes up to `max_iter` iterations; returns the loss at their beginning.

        A step that fails, for want of memory as it may be, changes nothing.
        """
        params = self.param_groups[0]["params"]
        checked_state(self.state.get(params[0], {}), {})
        before, state = [param.clone() for param in params], dict(self.state.get(params[0], {}))
        try:
            return self._iterate(closure)
        except BaseException:
            for param, value in zip(params, before, strict=True):
                param.copy_(value)
            self.state.pop(params[0], None)
            if state:
                self.state[params[0]] = state
            raise

    def _iterate(self, closure):
        group = self.param_groups[0]
        params = group["params"]
        closure = enable_grad()(closure)
        state = self.state[params[0]]  # of all parameters together
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss, grad = float(first_loss), _flat_grad(params)
        state["func_evals"] += 1
        if _largest(grad) <= group["tolerance_grad"]:
            return first_loss

        memory = _Memory(state, group["history_size"])
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = memory.direction(grad)
            before = loss
            length = group["lr"]
            if state["n_iter"] == 1:
                length = min(1.0, 1.0 / grad.abs().sum()) * length
            memory.last = direction, length, grad.clone(), loss
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            asked = 0
            if group["line_search_fn"] is None:
                _move(params, length, direction)
                if iteration < group["max_iter"]:  # the last one is evaluated at the beginning of the next step
                    loss, grad, asked = float(closure()), _flat_grad(params), 1
            elif group["line_search_fn"] == "strong_wolfe":
                start, most = Point(0, loss, grad, slope), min(STEPS, group["max_eval"] - evaluations)
                line = _Line(params, closure, direction)
                point, asked = strong_wolfe(line, start, length, _largest(direction), most)
                length, loss, grad = point.length, point.loss, point.grad
                memory.last = direction, length, *memory.last[2:]
                _move(params, length, direction)
            else:
                raise RuntimeError("only 'strong_wolfe' is supported")
            evaluations += asked
            state["func_evals"] += asked
            small_step = _largest(direction * length) <= group["tolerance_change"]
            small_gain = abs(loss - before) < group["tolerance_change"]
            flat = _largest(grad) <= group["tolerance_grad"]
            if evaluations >= group["max_eval"] or flat or small_step or small_gain:
                break
        memory.save(state)
        return first_loss


class _Memory:
    """The last steps and what the gradient did along them, for an estimate of the Hessian's inverse."""

    def __init__(self, state, size):
        self.size = size
        # Direction and length of the last step, and the gradient and the loss before it.
        self.last = state.get("d"), state.get("t"), state.get("prev_flat_grad"), state.get("prev_loss")
        self.fresh = state["n_iter"] == 0
        # Copies, so that a step that fails leaves the state as it was.
        self.changes = list(state.get("old_dirs", []))  # of the gradient
        self.steps = list(state.get("old_stps", []))
        self.inverses = list(state.get("ro", []))  # 1 / (change . step)
        self.scale = state.get("H_diag", 1)
        self.factors = list(state["al"]) if "al" in state else None

    def direction(self, grad):
        """The quasi-Newton direction: minus the gradient times the estimate, by the two loops of Nocedal."""
        if self.fresh:
            self.fresh = False
            self.changes, self.steps, self.inverses, self.scale = [], [], [], 1
            return -grad
        self._learn(grad)
        count = len(self.changes)
        if self.factors is None:
            self.factors = [None] * self.size
        if count > len(self.factors):
            raise IndexError(
                f"LBFGS: expected to remember {len(self.factors)} steps at most, by history_size; the state has {count}"
                "; set history_size when the optimizer is made, or load a state_dict of the same options"
            )
        result = -grad
        for i in range(count - 1, -1, -1):
            self.factors[i] = self.steps[i].dot(result) * self.inverses[i]
            result = _ops.add(result, self.changes[i], alpha=-self.factors[i].item())
        result = result * self.scale
        for i in range(count):
            correction = self.changes[i].dot(result) * self.inverses[i]
            result = _ops.add(result, self.steps[i], alpha=(self.factors[i] - correction).item())
        return result

    def _learn(self, grad):
        direction, length, before, _ = self.last
        for name, value in zip(("d", "t", "prev_flat_grad"), self.last[:3], strict=True):
            if value is None:
                raise missing(name, "in the state of LBFGS; load a state_dict of this optimizer")
        change, step = grad - before, direction * length
        curvature = change.dot(step)
        if curvature <= 1e-10:
            return
        if len(self.changes) == self.size:
            if not self.size:
                raise IndexError("pop from empty list: LBFGS expects a history_size of at least 1; got 0")
            for history in (self.changes, self.steps, self.inverses):
                history.pop(0)
        self.changes.append(change)
        self.steps.append(step)
        self.inverses.append(1.0 / curvature)
        self.scale = curvature / change.dot(change)

    def save(self, state):
        """Puts all of it into a state, under torch's names and in torch's order."""
        if self.factors is not None:
            state["al"] = self.factors
        state["d"], state["t"], before, loss = self.last
        state["old_dirs"], state["old_stps"], state["ro"] = self.changes, self.steps, self.inverses
        state["H_diag"], state["prev_flat_grad"], state["prev_loss"] = self.scale, before, loss


class _Line:
    """Loss and gradient along a direction, from where the parameters are now."""

    def __init__(self, params, closure, direction):
        self.params, self.closure, self.direction = params, closure, direction
        self.origin = [param.clone() for param in params]

    def __call__(self, length):
        _move(self.params, length, self.direction)
        loss, grad = float(self.closure()), _flat_grad(self.params)
        for param, value in zip(self.params, self.origin, strict=True):
            param.copy_(value)
        return Point(length, loss, grad, grad.dot(self.direction))


def _real(tensor):
    return _ops.view_as_real(tensor) if tensor.is_complex() else tensor


def _flat_grad(params):
    """All gradients in one vector; complex ones as pairs of numbers."""
    return _ops.cat([_real(_ops.zeros_like(p) if p.grad is None else p.grad.to_dense()).reshape(-1) for p in params])


def _move(params, length, direction):
    """params += length * direction."""
    offset = 0
    for param in map(_real, params):
        part = direction[offset : offset + param.numel()]
        param.add_(part.view(param.shape), alpha=float(length))
        offset += param.numel()


def _largest(vector):
    return vector.abs().max()
