"""Joining, choosing and indexing on the meta device: shapes of results and of gradients, of any size and at no cost."""

import pytest

import adjoint

from .compare import programs, raised

program, test_program = programs()
HUGE = 10**6


def joined(L, x, rows):
    """Results of rearranging one matrix."""
    ones = L.ones(rows, device="meta")
    return {
        "cat": L.cat([x, x[1:]]),
        "stack": L.stack([x, x], 1),
        "flip": x.flip(0),
        "roll": x.roll(1),
        "roll along": x.roll((1, 2), (0, 1)),
        "rot90": x.rot90(),
        "tril": x.tril(),
        "triu": x.triu(1),
        "tril_": (x * 1).tril_(),
        "copy_": (x.detach() * 2).copy_(x),
        "repeat_interleave": L.repeat_interleave(ones.long(), output_size=5),
    }


def gathered(L, x, rows):
    """Results of reading and writing where indices say."""
    places, index = L.zeros(2, dtype=L.int64, device="meta"), L.zeros(2, rows + 1, dtype=L.int64, device="meta")
    part, number, columns = x[:2] * 2, L.ones((), device="meta"), L.zeros(rows + 1, dtype=L.int64)
    return {
        "gather": x.gather(0, index),
        "gather by cpu": x.detach().gather(0, columns[None]),
        "scatter": x.scatter(0, index, part),
        "scatter number": x.scatter(0, index, 2.0),
        "scatter add": x.detach().scatter(0, index, 2.0, reduce="add"),
        "scatter_": (x * 1).scatter_(0, index, part),
        "scatter_add": x.scatter_add(0, index, part),
        **{f"scatter {how}": x.scatter_reduce(0, index, part, how) for how in ("sum", "mean", "amax", "amin")},
        "index_select": x.index_select(0, places),
        "index_select by int32": x.index_select(0, places.int()),
        "index_select by cpu": x.detach().index_select(1, columns[:3]),
        "index_add": x.index_add(0, places, part),
        "index_copy": x.index_copy(0, places, part),
        "index_fill": x.index_fill(0, places, 1.0),
        "index_fill number": x.index_fill(0, places, number),
        "take": x.take(index),
        "take_along_dim": x.take_along_dim(index, 0),
        "put": x.put(index, part),
        "put accumulate": x.put(index, part, True),
        **{f"nll {how}": L.nn.functional.nll_loss(x, index[0, :-1], reduction=how) for how in ("none", "sum", "mean")},
        "nll weighted": L.nn.functional.nll_loss(x, index[0, :-1], L.ones(rows + 1, device="meta")),
        "max": x.max(0).values,
        "repeat_interleave": x.repeat_interleave(x[:, 0].long(), 0, output_size=5),
    }


FAMILIES = {"joined": joined, "gathered": gathered}


def looks(x):
    return tuple(x.shape), x.stride(), str(x.dtype), str(x.device), x.requires_grad


def results_and_gradients(L, family, rows):
    x = L.ones(rows, rows + 1, device="meta", requires_grad=True)
    for name, y in FAMILIES[family](L, x, rows).items():
        seen = [looks(y)]
        if y.requires_grad:
            (first,) = L.autograd.grad((y * y).sum(), x, create_graph=True)
            (second,) = L.autograd.grad((first * first).sum(), x, retain_graph=True)
            seen += [(tuple(g.shape), str(g.device), g.requires_grad) for g in (first, second)]
        yield name, seen


def add_programs(family):
    def small(L):
        return list(results_and_gradients(L, family, 4))

    def huge(L):
        return list(results_and_gradients(L, family, HUGE))

    for size in (small, huge):
        size.__name__ = f"{family}_{size.__name__}"
        program(size)


for each in FAMILIES:
    add_programs(each)


@program
def repeats_without_values(L):
    repeats = L.ones(3, device="meta").long()
    return raised(lambda: L.repeat_interleave(repeats))[0]


@program
def shapes_that_do_not_fit(L):
    x, index = L.ones(3, 4, device="meta"), L.zeros(2, 5, dtype=L.int64, device="meta")
    places, empty = index[0, :2], L.ones(0, device="meta")
    calls = [
        lambda: x.gather(0, index),
        lambda: x.gather(0, places),
        lambda: x.scatter(0, index, 1.0),
        lambda: x.scatter(0, places, 1.0),
        lambda: x.scatter_add(0, index[:, :4], x[:1]),
        lambda: x.index_fill(0, index, 1.0),
        lambda: empty.take(places),
        lambda: x.gather(2, index),
        lambda: x.gather(0, x),
    ]
    return [raised(call)[0] for call in calls]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_tensors_of_several_devices_are_not_joined(order):
    both = [adjoint.ones(2, device="meta"), adjoint.ones(2, dtype=adjoint.int64)]
    for join in (adjoint.cat, adjoint.stack):
        with pytest.raises(RuntimeError, match="is not on the expected device"):
            join([both[i] for i in order])
