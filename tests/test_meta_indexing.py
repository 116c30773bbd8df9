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


def chosen(L, x, rows):
    """Results of masks, of conditions and of searching."""
    mask, number = x > 0, L.ones((), device="meta")
    index = L.zeros(2, rows + 1, dtype=L.int64, device="meta")
    return {
        "where": L.where(mask, x, 0.0),
        "where tensors": L.where(mask[:1], x * 2, x),
        "where numbers": L.where(mask, 1.0, 2.0),
        "masked_fill": x.masked_fill(mask, 1.0),
        "masked_fill number": x.masked_fill(mask[0], number),
        "masked_fill_": (x * 1).masked_fill_(mask, 1.0),
        "masked_scatter": x.masked_scatter(mask, x.reshape(-1) * 2),
        "pad": L.nn.functional.pad(x, (1, 2, 0, 1), value=3.0),
        "pad off": L.nn.functional.pad(x, (-1, 0)),
        "searchsorted": L.searchsorted(x, x),
        "searchsorted number": L.searchsorted(x[0], 2.0),
        "bucketize": L.bucketize(x, x[0], out_int32=True),
        "one_hot": L.nn.functional.one_hot(index[0], 3),
        "embedding": L.nn.functional.embedding(index, x, 1),
        "clamp": x.clamp(0, 1),
        "histc": L.histc(x.detach(), 10),
        "histc between": L.histc(x.detach(), 10, 0.0, 2.0),
    }


def assigned(L, x, key, value):
    y = x * 1
    y[key] = value
    return y


def indexed(L, x, rows):
    """Results of x[key] and of x[key] = value."""
    places, mask = L.zeros(2, dtype=L.int64, device="meta"), x > 0
    known = L.tensor([0, 2])
    return {
        "places": x[places],
        "places of int32": x[places.int()],
        "places twice": x[places, places],
        "places behind": x[:, places[:, None]],
        "places of the cpu": x.detach()[known],
        "mask of the cpu": x.detach()[L.tensor([True, False, True, True, False])[:4]] if rows == 4 else x[places],
        "assigned number": assigned(L, x, places, 2.0),
        "assigned number under a mask": assigned(L, x, mask, 2.0),
        "assigned row": assigned(L, x, places, x[0] * 3),
        "assigned element": assigned(L, x, (places, places), x[0, 0] * 3),
        "assigned row under a mask": assigned(L, x.detach(), mask[:, 0], x[0].detach()),
        "assigned many under a mask": assigned(L, x.detach(), mask, x[0].detach()),
        "index_put": x.index_put((places,), x[:2] * 2),
        "index_put added": x.index_put((places,), x[:2] * 2, accumulate=True),
        "index_put_": (x * 1).index_put_((places,), x[:2] * 2),
    }


FAMILIES = {"joined": joined, "gathered": gathered, "chosen": chosen, "indexed": indexed}


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
def what_depends_on_values(L):
    x = L.ones(3, 4, device="meta")
    calls = [
        lambda: x.nonzero(),
        lambda: x.nonzero(as_tuple=True),
        lambda: L.argwhere(x),
        lambda: L.where(x > 0),
        lambda: x.masked_select(x > 0),
        lambda: L.bincount(x[0].long()),
        lambda: L.nn.functional.one_hot(x.long()),
        lambda: x[x > 0],
        lambda: x[x[:, 0] > 0],
        lambda: L.unique(x),
        lambda: L.unique(x.long(), return_inverse=True),
        lambda: L.unique_consecutive(x),
        lambda: L.unique(x, dim=0),
    ]
    return [raised(call)[0] for call in calls]


def test_nonzero_static_has_the_size_that_is_asked_for():
    x = adjoint.ones(3, 4, device="meta")
    assert tuple(adjoint.nonzero_static(x, size=5).shape) == (5, 2)
    y = adjoint.tensor([[0.0, 1.0], [2.0, 3.0]])
    assert adjoint.nonzero_static(y, size=4, fill_value=-2).tolist() == [[0, 1], [1, 0], [1, 1], [-2, -2]]
    assert adjoint.nonzero_static(y, size=2).tolist() == [[0, 1], [1, 0]]


def test_histograms_with_bounds_need_no_values():
    x = adjoint.ones(3, 4, device="meta")
    hist, edges = adjoint.histogram(x, 5, range=(0.0, 1.0))
    assert (hist.shape, edges.shape, hist.is_meta, edges.is_meta) == ((5,), (6,), True, True)


def test_masks_of_the_cpu_choose_on_the_meta_device():
    x = adjoint.ones(3, 4, device="meta", requires_grad=True)
    y = x.masked_select(adjoint.ones(3, 4) > 0)
    y.sum().backward()
    assert (tuple(y.shape), tuple(x.grad.shape)) == ((12,), (3, 4))


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
