"""torch.func.rearrange, functionalize, debug_unwrap and replace_all_batch_norm_modules_, beside torch."""

import pytest

import adjoint

from .compare import OPS, VALUES, programs, raised, same

program, test_program = programs(OPS)

PATTERNS = {
    "a b c -> c b a": {},
    "a b c -> (a b) c": {},
    "a b c->a (b c)": {},
    "a b c -> (c a b)": {},
    "1 b c -> b c": {},
    "a b c -> a b c 1": {},
    "a b c -> (a 1) b c": {},
    "a b (c) -> b a c": {},
    "... c -> c ...": {},
    "a ... -> ... a": {},
    "... -> (...)": {},
    "a ... -> (... a)": {},
    "a b c ... -> a b c ...": {},
    "a b (c d) -> a b c d": {"c": 3},
    "a b (d c) -> (a c) b d": {"d": 3, "c": 2},
    "a (b1 b2) c -> b1 (a b2) c": {"b1": 2},
    "(a one) b c -> a b c one": {"one": 1},
    "a b c -> b c a": {"c": 6},
    "a b -> b a": {},
    "a b c -> a b": {},
    "a b c -> a b c d": {"d": 2},
    "a a b -> a b": {},
    "a b c": {},
    "a b c -> a b c -> c": {},
    "a b ((c)) -> a b c": {},
    "... b ... -> b ...": {},
    "a_ b c -> a_ b c": {},
    "1a b c -> 1a b c": {},
    "a 2 c -> a c": {},
    "a b c -> a . b c": {},
    "a (...) -> a ...": {},
    "a b (c d) -> a d b c": {"c": 4},
    "a b (c d) -> c d a b": {},
    "a b c -> a c b": {"c": 4},
    "a b c -> c a b": {"e": 4},
    "a b c -> b a c": {"c": "six"},
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern):
    def call(L):
        x = L.arange(12.0).reshape(1, 2, 6)
        return raised(lambda: L.func.rearrange(x, pattern, **PATTERNS[pattern]), 34)

    same(call, look=(*VALUES, "strides"))


@program
def several_tensors(L):
    x = L.arange(6.0).reshape(2, 3)
    return (
        L.func.rearrange([x, x * 2], "n a b -> a (n b)"),
        L.func.rearrange((x, x + 1, x), "n a b -> b n a"),
        L.func.rearrange(L.tensor(3.0), "->"),
        raised(lambda: L.func.rearrange([], "n -> n")),
    )


@program
def rearrange_under_transforms(L):
    x = L.arange(12.0).reshape(2, 2, 3)
    f = lambda x: L.func.rearrange(x, "a (b c) -> c (a b)", c=3).sin()
    return L.vmap(f)(x), L.func.grad(lambda x: f(x)[0].sum())(x[0]), L.func.jvp(f, (x[1],), (x[0],))


@pytest.mark.parametrize("pattern", ["a b) -> a b", "(a b -> a b", "a (b -> b a"])
def test_parentheses_that_do_not_match(pattern):
    with pytest.raises(ValueError, match=r"balanced|mbalanced"):
        adjoint.func.rearrange(adjoint.ones(2, 3), pattern)


@program
def functions_that_change_their_arguments(L):
    def f(x):
        y = x + 1
        y.view(-1).mul_(3)
        x.add_(10)
        return y, [x * 2]

    x = L.arange(3.0)
    results = [L.func.functionalize(f)(x), L.func.functionalize(f, remove="mutations_and_views")(x), x]
    return results, L.func.functionalize(f).__name__, raised(lambda: L.func.functionalize(f, remove="all"), 70)


@program
def what_is_behind_a_tensor(L):
    x, seen = L.arange(6.0).reshape(2, 3), []

    def f(x):
        seen.append(L.func.debug_unwrap(x))
        seen.append(tuple(L.func.debug_unwrap(x, recurse=False).shape))
        return x.sum()

    L.vmap(f)(x), L.vmap(L.vmap(f))(x)
    return seen, L.func.debug_unwrap(x) is x, raised(lambda: L.func.debug_unwrap(3), 0)


@program
def batch_norms_without_statistics(L):
    net = L.nn.Sequential(L.nn.BatchNorm1d(2), L.nn.Sequential(L.nn.BatchNorm2d(3), L.nn.InstanceNorm1d(2, True)))
    same_one = L.func.replace_all_batch_norm_modules_(net) is net
    norms = [m for m in net.modules() if hasattr(m, "running_mean")]
    state = [(m.running_mean, m.running_var, m.num_batches_tracked, m.track_running_stats) for m in norms]
    x = L.arange(24.0).reshape(3, 4, 2)
    return same_one, state, list(net.state_dict()), L.vmap(net[0])(x).detach()
