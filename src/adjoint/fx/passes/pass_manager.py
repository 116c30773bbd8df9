"""Functions of a module run one after the other: the older and simpler of the two managers of passes."""

import functools
import logging

__all__ = [
    "PassManager", "inplace_wrapper", "log_hook", "loop_pass", "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]  # fmt: skip


def inplace_wrapper(fn):
    """A pass that returns its module, from one that changes it and returns something else.

    >>> from adjoint.fx.passes.pass_manager import inplace_wrapper
    >>> inplace_wrapper(lambda gm: None)("module")
    'module'
    """

    @functools.wraps(fn)
    def wrapped(gm):
        fn(gm)
        return gm

    return wrapped


def log_hook(fn, level=logging.INFO):
    """A pass whose result is logged, as from an inplace pass that tells what it did."""

    @functools.wraps(fn)
    def wrapped(gm):
        logging.getLogger(__name__).log(level, "Ran pass %s\t Return value: %s", fn, result := fn(gm))
        return result

    return wrapped


def loop_pass(base_pass, n_iter=None, predicate=None):
    """A pass that runs another `n_iter` times, or while `predicate(its result)` is true.

    >>> from adjoint.fx.passes.pass_manager import loop_pass
    >>> loop_pass(lambda x: x + 1, n_iter=3)(0)
    3
    """
    if (n_iter is None) == (predicate is None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @functools.wraps(base_pass)
    def looped(source):
        output = source
        if n_iter is not None:
            for _ in range(n_iter):
                output = base_pass(output)
            return output
        while predicate(output):
            output = base_pass(output)
        return output

    return looped


def this_before_that_pass_constraint(this, that):
    """A constraint: one pass is not to come after another."""
    return lambda a, b: not (a == that and b == this)


def these_before_those_pass_constraint(these, those):
    """A constraint on passes that `inplace_wrapper` and the like have wrapped: compares what is inside."""
    inside = lambda one: getattr(one, "__wrapped__", one)  # noqa: E731 - needed twice, in one line
    return lambda a, b: not (inside(a) == those and inside(b) == these)


class PassManager:
    """Runs functions of a module in order; each gives the module to the next.

    >>> from adjoint.fx.passes.pass_manager import PassManager
    >>> PassManager.build_from_passlist([lambda x: x + 1, lambda x: x * 2])(1)
    4
    """

    def __init__(self, passes=None, constraints=None):
        self.passes, self.constraints = list(passes or ()), list(constraints or ())
        self._validated = False

    @classmethod
    def build_from_passlist(cls, passes):
        """A manager of these passes."""
        return cls(passes)

    def add_pass(self, _pass):
        """One more pass, at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        """One more constraint: a function of two passes that says whether they may come in this order."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes):
        """Takes the passes of these names out."""
        self.passes = [one for one in self.passes if one.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target, _replacement):
        """Puts one pass in the place of another."""
        self.passes = [_replacement if one.__name__ == _target.__name__ else one for one in self.passes]
        self._validated = False

    def validate(self):
        """Raises if the order of the passes breaks a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            for place, first in enumerate(self.passes):
                for later in self.passes[place + 1 :]:
                    if not constraint(first, later):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {first} before {later} but found {later} "
                            f"after it, at index {self.passes.index(later)} in pass list."
                        )
        self._validated = True

    def __call__(self, source):
        self.validate()
        output = source
        for one in self.passes:
            output = one(output)
        return output
