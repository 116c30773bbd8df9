"""Passes run one after the other."""

import functools
import inspect

from ....nn import Module
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn):
    """A pass that returns nothing, as one that returns a PassResult."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        if isinstance(result, PassResult):
            return result
        if isinstance(result, Module):
            return PassResult(result, True)
        raise TypeError(f"pass_result_wrapper: {fn} gave {type(result).__name__}, not a PassResult or a module")

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this, that):
    """A constraint: one pass is not to come after another.

    >>> from adjoint.fx.passes.infra.pass_manager import this_before_that_pass_constraint
    >>> this_before_that_pass_constraint(len, max)(max, len)
    False
    """
    return lambda a, b: not (a == that and b == this)


class PassManager:
    """Runs passes in order, `steps` times or until none of them changes anything.

    >>> import adjoint as torch
    >>> from adjoint.fx.passes.infra.pass_manager import PassManager
    >>> from adjoint.fx.passes.infra.pass_base import PassResult
    >>> manager = PassManager([lambda gm: PassResult(gm, True)])
    >>> manager(torch.fx.symbolic_trace(lambda x: x + 1)).modified
    True
    """

    def __init__(
        self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False,
        suppress_check_failures=False,
    ):  # fmt: skip
        self.passes = list(passes or ())
        self.constraints = list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass):
        """One more pass, at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """One more constraint: a function of two passes that says whether they may come in this order."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """Raises if the order of the passes breaks a constraint."""
        for constraint in self.constraints:
            for place, first in enumerate(self.passes):
                for later in self.passes[place + 1 :]:
                    if not constraint(first, later):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {first} before {later} but found {first} at "
                            f"index {place} and {later} at index {self.passes.index(later)} in pass list."
                        )
        self._validated = True

    def solve_constraints(self):
        """Puts the passes in an order that breaks no constraint."""
        left = list(self.passes)
        order = []
        while left:
            for candidate in left:
                others = [one for one in left if one is not candidate]
                if all(constraint(candidate, one) for constraint in self.constraints for one in others):
                    order.append(candidate)
                    left.remove(candidate)
                    break
            else:
                raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
        self.passes = order
        self._validated = True

    def add_checks(self, check):
        """Has a function of the module run after each pass, if `run_checks_after_each_pass`."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        setattr(self, "check", check)  # noqa: B010 - a method, replaced for this manager alone

    def check(self, module):
        """Checks a module; nothing unless `add_checks` gave something."""

    def _run(self, one, module):
        name = one.__name__ if inspect.isfunction(one) else type(one).__name__
        try:
            result = one(module)
            if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                raise TypeError(
                    f"Result of the pass {name} should be type PassResult. Please wrap it with pass_result_wrapper()"
                )
        except Exception as error:
            before = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes]
            before = before[: before.index(name)]
            raise Exception(
                f"An error occurred when running the '{name}' pass after the following passes: {before}"
            ) from error
        return result

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for one in self.passes:
                result = self._run(one, module)
                module, changed = result.graph_module, changed or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)
