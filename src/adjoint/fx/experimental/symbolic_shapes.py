"""Questions about sizes. Sizes are numbers here, never symbols, so that all of them have an answer."""

__all__ = [
    "definitely_false", "definitely_true", "guard_int", "guard_or_false", "guard_or_true", "guard_size_oblivious",
    "has_free_symbols", "hint_int", "is_concrete_bool", "is_concrete_int", "is_symbolic", "statically_known_true",
    "sym_eq",
]  # fmt: skip


def guard_size_oblivious(expr):
    """Whether a comparison of sizes holds.

    >>> from adjoint.fx.experimental.symbolic_shapes import guard_size_oblivious
    >>> guard_size_oblivious(2 == 2)
    True
    """
    return bool(expr)


guard_or_false = guard_or_true = statically_known_true = definitely_true = guard_size_oblivious


def definitely_false(expr):
    """Whether a comparison of sizes does not hold."""
    return not expr


def guard_int(a):
    """A size as a number."""
    return int(a)


def hint_int(a, fallback=None):
    """A size as a number."""
    return int(a)


def sym_eq(x, y):
    """Whether sizes are the same, or tuples of them."""
    return x == y


def is_symbolic(val):
    """Whether a size is a symbol: never."""
    return False


has_free_symbols = is_symbolic


def is_concrete_int(a):
    """Whether something is a whole number."""
    return isinstance(a, int)


def is_concrete_bool(a):
    """Whether something is True or False."""
    return isinstance(a, bool)
