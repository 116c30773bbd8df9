# LBFGS evaluates the closure several times, and needs one.
from typing import TypeVar

_L = TypeVar("_L")

class LBFGS(Optimizer):
    def step(self, closure: _Callable[[], _L]) -> _L: ...  # type: ignore[override]
