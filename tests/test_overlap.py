"""What is written lies in the memory of what is read: refused, or computed from the values before, as in torch."""

import numpy as np
import pytest
import torch

import adjoint

from .compare import EXACT, lines, outcome, same
from .samples import Placeholder, find
from .test_op_table import TABLE, method_of, samples_by_name, tensors_in

CALLS = lines("""
    x1.scatter_(0, ind, src)
    src.scatter_(0, ind, src)
    ind.scatter_(0, ind, ind.clone())
    src.scatter_(0, ind, 1.0)
    ind.scatter_(0, ind, 1)
    x1.scatter_(0, ind, 1.0)
    x1.scatter_add_(0, ind, src)
    src.scatter_add_(0, ind, src)
    ind.scatter_add_(0, ind, ind.clone())
    x1.scatter_reduce_(0, ind, src, "sum")
    src.scatter_reduce_(0, ind, src, "sum")
    src.scatter_reduce_(0, ind, src, "prod")
    ind.scatter_reduce_(0, ind, ind.clone(), "sum")
    src[:2].scatter_(0, ind[:2] - 1, src[1:])
    src[:1].scatter_(0, ind[2:], src[1:2])
    src[:1].scatter_(0, ind[2:], src[2:3])
    L.scatter(src, 0, ind, src)
    L.scatter(src, 0, ind, src.clone(), out=src)
    L.scatter(src, 0, ind, src, out=src)
    L.scatter(src, 0, ind, src, out=src.clone())
    L.scatter(src, 0, ind, src.clone(), out=x1)
    L.scatter_add(src, 0, ind, src.clone(), out=src)
    L.scatter_add(src, 0, ind, src, out=src)
    L.scatter_reduce(src, 0, ind, src.clone(), "sum", out=src)
    L.scatter_reduce(src, 0, ind, src, "sum", out=src)
    L.gather(src6, 0, ind, out=x1)
    L.gather(src6, 0, ind, out=src6)
    L.gather(src, 0, ind, out=src)
    L.gather(ind.clone(), 0, ind[1:], out=ind[:1])
    L.gather(ind.clone(), 0, ind, out=ind)
    L.gather(src6[3:], 0, ind, out=src6[:3])
    L.take(src6, ind, out=x1)
    L.take(src6, ind, out=src6)
    L.take(src, ind, out=src)
    L.take(ind.clone(), ind[1:], out=ind[:-1])
    L.take(src6[3:], ind, out=src6[:3])
    L.index_select(y46, 1, ind[:2] % 2, out=L.rand(1, 2).expand(4, 2))
    L.index_select(src, 0, ind, out=src)
    L.index_select(ind.clone(), 0, ind, out=ind)
    L.index_select(src6[3:], 0, ind, out=src6[:3])
    L.masked_select(src6, mask6, out=x1)
    L.masked_select(src6, mask6, out=src6)
    L.masked_select(mask6.clone(), mask6, out=mask6)
    L.masked_select(src6[3:], mask6[3:], out=src6[:1])
    L.rand(1, 6).expand(2, 6).index_copy_(1, ind, L.rand(2, 3))
    src.index_copy_(0, ind, src)
    ind.index_copy_(0, ind, ind.clone())
    src6[:3].index_copy_(0, ind, src6[1:4])
    src6[:3].index_copy_(0, ind, src6[3:])
    L.index_copy(src, 0, ind, src, out=src)
    L.index_copy(src, 0, ind, src.clone(), out=src)
    L.rand(1, 6).expand(2, 6).index_add_(1, ind, L.rand(2, 3))
    src.index_add_(0, ind, src)
    ind.index_add_(0, ind, ind.clone())
    L.index_add(src, 0, ind, src, out=src)
    L.index_add(src, 0, ind, src.clone(), out=src)
    ind.index_fill_(0, ind, 0)
    ind.index_fill_(0, ind, L.tensor(0))
    src.index_fill_(0, ind, src[0])
    src6[:-1].copy_(src6[1:])
    src6.copy_(src6)
    src6.copy_(src6.flip(0))
    y33.copy_(y33.t())
    y33[0].copy_(y33[:, 0])
    src6[::2].copy_(src6[1::2])
    src6.view(2, 3).copy_(src6.view(3, 2).t())
    src6.copy_(src6[0])
    src6[:3].copy_(src6[2])
    x1.copy_(src)
    x1.copy_(src[0])
    x1.fill_(1.0)
    x1.zero_()
    x1.add_(1)
    x1.add_(x1)
    x1.mul_(src)
    x1[0:1].add_(1)
    x1[0].add_(1)
    L.rand(1, 3).expand(2, 3).add_(1)
    L.rand(3, 1).expand(3, 4).relu_()
    L.rand(1, 3).expand(1, 3).add_(1)
    L.rand(6).as_strided((3,), (0,)).add_(1)
    L.rand(6).as_strided((2, 2), (3, 2)).add_(1)
    L.add(L.rand(3), 1, out=x1)
    src6[:3].add_(src6[3:])
    src6[:3].add_(src6[2:5])
    src6[:3].add_(src6[:3])
    src6[:3].add_(src6[0])
    src6[:3].add_(src6[2])
    src6[2:].add_(src6[:1])
    src6[2:5].add_(src6[2:3])
    src6.add_(src6[0])
    src6.mul_(src6.flip(0))
    src6[::2].add_(src6[1::2])
    src6[::2].add_(src6[::2])
    src6[0:4:2].add_(src6[1:3])
    src6[0:4].add_(src6[0:4:1].view(2, 2).t().reshape(4))
    y33.add_(y33.t())
    y33.add_(y33[0])
    y33[1].add_(y33[0])
    y33[:, 1].add_(y33[:, 0])
    y33[:, 1].add_(y33[0])
    y33[1:].add_(y33[:-1])
    y33.addcmul_(y33, y33)
    y33.addcmul_(y33.t(), y33)
    y33[1:].addcdiv_(y33[:-1], y33[1:])
    y33.lerp_(y33.t(), 0.5)
    L.add(src6[1:], 1, out=src6[:-1])
    L.add(src6, 1, out=src6)
    L.add(src6, src6, out=src6)
    L.add(y33, 1, out=y33.t())
    L.sin(src6[1:], out=src6[:-1])
    L.sin(src6[::2], out=src6[1::2])
    L.cumsum(y33, 0, out=y33)
    L.cumsum(src6[1:], 0, out=src6[:-1])
    L.cumsum(src6, 0, out=x6)
    L.cumprod(src6[1:], 0, out=src6[:-1])
    L.mm(y33, y33, out=y33.clone())
    L.cross(src, src.clone(), out=src)
    L.cross(src6[:3], src6[3:], dim=0, out=src6[1:4])
    L.linalg.cross(src, src.clone(), out=src)
    L.linalg.cross(src, src.clone(), out=x1)
    L.cat([src, src], out=src)
    L.cat([src6[:2], src6[2:4]], out=src6[:4])
    L.cat([src, src], out=x6)
    L.cat([src6[:3], src.clone()], out=src6)
    L.cat([src.clone(), src6[:3]], out=src6)
    L.stack([src6[:3], src6[:3]], out=src6.view(2, 3))
    L.hstack([src6[:3], src6[:3]], out=src6)
    L.where(mask6, src6, x6, out=src6)
    L.where(mask6[1:], src6[1:], x6[1:], out=src6[:-1])
    L.where(mask6, mask6, mask6, out=mask6)
    mask6[1:].masked_fill_(mask6[:-1], False)
    mask6.masked_fill_(mask6, False)
    src6.masked_fill_(mask6, src6[0])
    mask6.masked_scatter_(mask6, mask6.clone())
    x1.put_(ind, src)
    src.put_(ind, src)
    src.put_(ind[0], src[0])
    ind.put_(ind, ind)
    ind.put_(ind, ind.clone())
    ind.put_(ind.clone(), ind)
    src6.put_(ind, src6[:3])
    src6.put_(ind, src6[:3], accumulate=True)
    src.index_put_((ind,), src[0])
    ind.index_put_((ind,), ind)
    src6.index_put_((ind,), src6[:3])
    ind.index_put_((ind,), ind.clone())
    ind.index_put_((ind.clone(),), ind)
    src6.__setitem__(ind, src6[:3])
    ind.__setitem__(ind, ind)
    src6.__setitem__(mask6, 1.0)
    mask6.__setitem__(mask6, False)
    L.zeros(1).expand(3).__setitem__(0, 1.0)
    L.zeros(1).expand(3).__setitem__(slice(None), 1.0)
    L.zeros(1).expand(3).__setitem__(slice(None), src)
    L.arange(6, out=ind6e)
    ind.__ilshift__(1)
    ind[:-1].__ilshift__(ind[1:])
    src6[:-1].__iadd__(src6[1:])
    L.sort(src6[1:], out=(src6[:-1], empty))
    L.sort(src6, out=(x6, empty))
    L.topk(src6, 2, out=(src6[:2], empty))
    L.topk(src6, 2, out=(src6[2:4], empty))
    L.max(y33, 0, out=(y33[0], empty))
    L.max(y33, 0, out=(L.empty(3), L.zeros(1, dtype=L.int64).expand(3)))
    L.kthvalue(src6, 2, out=(src6[0], empty))
    L.mode(y33, 0, out=(y33[0], empty))
    L.nonzero(ind, out=ind)
    L.nonzero(ind, out=L.zeros(1, 1, dtype=L.int64).expand(2, 1))
    L.diag(src, out=y33[0])
    L.outer(src, src, out=y33)
    L.outer(y33[0], y33[1], out=y33)
    L.addr(y33, y33[0], y33[1], out=y33)
    y33.addr_(y33[0], y33[1])
    L.kron(src, src, out=y33.view(9))
    L.clamp(src6[1:], 0, 1, out=src6[:-1])
    src6[1:].clamp_(src6[:-1])
    src6[1:].clamp_max_(src6[:-1])
    src6[1:].nextafter_(src6[:-1])
    src6[1:].copysign_(src6[:-1])
    L.zeros(1, 3).expand(3, 3).t_().shape
    L.zeros(1).expand(3).squeeze_().shape
    L.zeros(1).expand(3).sigmoid_()
    L.zeros(1).expand(3).cumsum_(0)
    L.zeros(1).expand(3).resize_(2).shape
    L.zeros(1).expand(3).detach_().shape
    L.nn.functional.relu_(L.zeros(1).expand(3))
    L.nn.functional.relu(L.zeros(1).expand(3), inplace=True)
    L.nn.functional.dropout(L.ones(1).expand(3), 0.0, inplace=True)
    L.nn.functional.elu_(L.zeros(1).expand(3))
    L.nn.functional.hardtanh_(L.zeros(1).expand(3))
    L.nn.functional.gelu(src6[1:]).shape
    L.abs(src6[1:], out=src6[:-1])
    L.frac(src6[:5], out=src6[1:])
    L.complex(src6[:3], src6[3:], out=L.zeros(1, dtype=L.complex64).expand(3))
    L.polar(src6[:3], src6[3:], out=L.zeros(1, dtype=L.complex64).expand(3))
    L.take_along_dim(src, ind, 0, out=src)
    L.heaviside(src6[1:], src6[:-1], out=src6[1:])
    L.searchsorted(src6.sort()[0], src6, out=ind6e)
    L.bucketize(src6, src6.sort()[0], out=ind6e)
    L.isin(src6, src6, out=mask6)
    L.logical_and(mask6, mask6, out=mask6)
    L.logical_and(mask6[1:], mask6[:-1], out=mask6[1:])
    L.eq(src6, src6, out=mask6)
    L.lt(mask6[1:], mask6[1:], out=mask6[:-1])
""")


def names(library):
    """What the calls are made of; anew for each, as they write."""
    return {
        "L": library,
        "x1": library.full((1,), 0.5).expand(3),
        "x6": library.full((1,), 0.5).expand(6),
        "src": library.tensor([0.1, 0.2, 0.3]),
        "src6": library.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        "ind": library.tensor([2, 1, 0]),
        "ind6e": library.zeros(1, dtype=library.int64).expand(6),
        "y46": library.arange(24.0).view(4, 6),
        "y33": library.tensor([[0.0, 0.1, 0.2], [0.3, 0.4, 0.5], [0.6, 0.7, 0.8]]),
        "mask6": library.tensor([True, False, True, True, False, False]),
        "empty": library.empty(0, dtype=library.int64),
    }


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    def program(library):
        result = eval(call, names(library))
        # Sums of three float32 numbers round as they come.
        return [np.round(tensor.detach().tolist(), 5).tolist() for tensor in tensors_in(result)]

    # Torch warns of resizing an out= that it then refuses; here it is refused before.
    same(program, bound=EXACT, warned=None)


def test_nothing_is_changed_by_what_is_refused():
    for call in CALLS:
        given = names(adjoint)
        before = {name: value.tolist() for name, value in given.items() if isinstance(value, adjoint.Tensor)}
        if outcome(lambda _, call=call, given=given: eval(call, given), adjoint).error is not None:
            assert {name: given[name].tolist() for name in before} == before, call


def shifted(library, first, second):
    """Both tensors in one piece of memory, the second one element later."""
    memory = library.zeros(max(first.numel(), second.numel()) + 1, dtype=first.dtype)
    a, b = memory[: first.numel()].view(first.shape), memory[1 : second.numel() + 1].view(second.shape)
    b.copy_(second.detach())
    a.copy_(first.detach())
    return a, b


def in_place(library, name, sample, place, kind):
    args, kwargs, tensors = sample.make(library)
    for tensor in tensors:
        tensor.requires_grad_(False)
    if kind == "same":
        args[place] = args[0]
    else:
        args[0], args[place] = shifted(library, args[0], args[place])
    return method_of(library, f"{name}_")(*args, **kwargs)


def refusal(call, library):
    """The first words of the error of a call that is refused for its memory, else None."""
    came = outcome(call, library)
    return (came.kind, came.message[:40]) if "unsupported operation" in came.message[:40] else None


# Composites in torch, which compute what they read before they write.
LATER = {"ldexp"}
# Torch expands the first argument of these, and cannot tell any more that it overlaps.
EXPANDED = {"addmm", "addr", "baddbmm"}


@pytest.mark.parametrize("kind", ["same", "part"])
@pytest.mark.parametrize("name", sorted(name for name in samples_by_name() if method_of(torch, f"{name}_")))
def test_arguments_of_in_place_forms(name, kind):
    for sample in samples_by_name()[name][:3]:
        if name in LATER or sample.torch is not None or not isinstance(sample.args[0], Placeholder):
            continue
        args = sample.make(torch)[0]
        for place, argument in enumerate(args[1:], 1):
            if not isinstance(argument, torch.Tensor) or argument.dtype != args[0].dtype or not argument.numel():
                continue
            if not args[0].numel() or (kind == "same" and argument.shape != args[0].shape):
                continue

            def call(library, sample=sample, place=place):
                return in_place(library, name, sample, place, kind)

            if outcome(call, torch).error is not None and refusal(call, torch) is None:
                continue  # refused for another reason
            assert refusal(call, adjoint) == refusal(call, torch), f"{sample!r}, argument {place}"


def with_out(library, name, sample, place, kind):
    args, kwargs, tensors = sample.make(library)
    for tensor in tensors:
        tensor.requires_grad_(False)
    result = find(library, name)(*args, **kwargs)
    first = tensors_in(result)[0]
    if kind == "same":
        out = args[place]
    else:
        args[place], out = shifted(library, args[place], first.to(args[place].dtype))
    rest = [library.empty(0, dtype=tensor.dtype) for tensor in tensors_in(result)[1:]]
    return find(library, name)(*args, **kwargs, out=(out, *rest) if rest else out)


@pytest.mark.parametrize("kind", ["same", "part"])
@pytest.mark.parametrize("name", sorted(name for name in samples_by_name() if getattr(TABLE.get(name), "out", False)))
def test_arguments_as_out(name, kind):
    for sample in samples_by_name()[name][:3]:
        if name in LATER or sample.torch is not None or not sample.out or not isinstance(sample.args[0], Placeholder):
            continue
        args, kwargs, _ = sample.make(torch)
        found = outcome(lambda _, args=args, kwargs=kwargs: find(torch, name)(*args, **kwargs), torch, look=None)
        if found.error is not None:
            continue
        first = tensors_in(found.value)[0]
        for place, argument in enumerate(args):
            if not isinstance(argument, torch.Tensor) or argument.dtype != first.dtype or not argument.numel():
                continue
            if name in EXPANDED and place == 0 and argument.shape != first.shape:
                continue
            # Torch writes out of bounds where it resizes what it reads.
            if not first.numel() or (kind == "same" and argument.shape != first.shape):
                continue

            def call(library, sample=sample, place=place):
                return with_out(library, name, sample, place, kind)

            if outcome(call, torch).error is not None and refusal(call, torch) is None:
                continue  # refused for another reason
            assert refusal(call, adjoint) == refusal(call, torch), f"{sample!r}, argument {place}"
