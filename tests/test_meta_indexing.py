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


FAMILIES = {"joined": joined}


def looks(x):
    return tuple(x.shape), x.stride(), str(x.dtype), str(x.device), x.requires_grad


def results_and_gradients(L, family, rows):
    x = L.ones(rows, rows + 1, device="meta", requires_grad=True)
    for name, y in FAMILIES[family](L, x, rows).items():
        seen = [looks(y)]
        if y.requires_grad:
            (first,) = L.autograd.grad((y * y).sum(), x, create_graph=True)
            (second,) = L.autograd.grad((first * first).sum(), x)
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


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_tensors_of_several_devices_are_not_joined(order):
    both = [adjoint.ones(2, device="meta"), adjoint.ones(2, dtype=adjoint.int64)]
    for join in (adjoint.cat, adjoint.stack):
        with pytest.raises(RuntimeError, match="is not on the expected device"):
            join([both[i] for i in order])
