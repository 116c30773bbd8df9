"""Programs for the methods, operators and attributes of Tensor."""

import copy


def row(L):
    return L.tensor([1.0, -2.0, 3.0])


def square(L):
    return L.tensor([[1.0, 2.0], [3.0, 4.0]])


def block(L):
    return L.arange(24.0).reshape(2, 3, 4)


def leaf(L):
    return L.tensor([0.5, 1.5], requires_grad=True)


def changed(tensor, method, /, *args, **kwargs):
    """The result of an in-place method, the tensor afterwards, and whether they are one."""
    result = getattr(tensor, method)(*args, **kwargs)
    return result, tensor, result is tensor


def backward(L):
    x = leaf(L)
    (x * x).sum().backward()
    return x.grad


def gradient_of_view(L):
    x = leaf(L)
    y = x.view(2, 1)
    y.sum().backward()
    return y.shape, x.grad


def setitem(L):
    x = block(L)
    x[0, 1] = -1.0
    x[:, :, 3] = L.tensor([[5.0], [6.0]])
    x[x > 20] = 0
    return x


def data(L):
    x = leaf(L)
    x.data = x.data * 2
    x.data[0] = 7
    return x, x.data.requires_grad


def hashing(L):
    x = row(L)
    return hash(x) == hash(x), len({x, x}), {x: 1}[x]


def requires_grad(L):
    x = row(L)
    before = x.requires_grad
    x.requires_grad = True
    return before, x.requires_grad, (x * 2).requires_grad


PROGRAMS = {
    "Tensor": lambda L: (L.Tensor([1, 2]), L.Tensor(2, 3).shape, isinstance(row(L), L.Tensor), L.Tensor().shape),
    "Tensor.__and__": lambda L: (L.tensor([6, 3]) & 5, L.tensor([True, False]) & True),
    "Tensor.__array__": lambda L: (row(L).__array__().tolist(), str(row(L).__array__().dtype)),
    "Tensor.__bool__": lambda L: (bool(L.tensor(2)), bool(L.tensor([0.0])), not L.tensor(0)),
    "Tensor.__eq__": lambda L: (row(L) == 1, row(L) == row(L), L.tensor(1) == 1.0),
    "Tensor.__float__": lambda L: (float(L.tensor(2)), float(L.tensor([2.5]))),
    "Tensor.__format__": lambda L: (f"{L.tensor(2.5):.3f}", f"{row(L)}", f"{L.tensor(3):5d}"),
    "Tensor.__getitem__": lambda L: [block(L)[i] for i in (0, (1, 2), (..., 1), (slice(None), None, slice(0, 2)))],
    "Tensor.__hash__": hashing,
    "Tensor.__index__": lambda L: ([10, 20, 30][L.tensor(1)], list(range(L.tensor(3))), [0] * L.tensor(2)),
    "Tensor.__invert__": lambda L: (~L.tensor([True, False]), ~L.tensor([1, -3])),
    "Tensor.__iter__": lambda L: ([v.item() for v in row(L)], list(square(L)), sum(row(L))),
    "Tensor.__len__": lambda L: (len(row(L)), len(block(L))),
    "Tensor.__or__": lambda L: (L.tensor([6, 3]) | 1, L.tensor([True, False]) | L.tensor([False, False])),
    "Tensor.__rdiv__": lambda L: (row(L).__rdiv__(6), 6 / row(L)),
    "Tensor.__repr__": lambda L: (repr(row(L)), repr(leaf(L)), repr(leaf(L) * 2), repr(L.tensor([1e-8, 1e8]))),
    "Tensor.__rpow__": lambda L: (2 ** row(L), 2 ** leaf(L)),
    "Tensor.__rsub__": lambda L: (1 - row(L), 1 - leaf(L)),
    "Tensor.__setitem__": setitem,
    "Tensor.abs": lambda L: row(L).abs(),
    "Tensor.add": lambda L: (row(L).add(2), row(L).add(row(L), alpha=2), row(L) + 1, leaf(L) + leaf(L)),
    "Tensor.add_": lambda L: changed(row(L), "add_", row(L), alpha=3),
    "Tensor.addcdiv_": lambda L: changed(row(L), "addcdiv_", row(L), row(L) * 2, value=0.5),
    "Tensor.addcmul_": lambda L: changed(row(L), "addcmul_", row(L), row(L), value=-1),
    "Tensor.all": lambda L: (row(L).all(), square(L).gt(1).all(dim=1), square(L).all(0, keepdim=True)),
    "Tensor.amax": lambda L: (block(L).amax(), block(L).amax(dim=(0, 2))),
    "Tensor.amin": lambda L: (block(L).amin(), block(L).amin(1, keepdim=True)),
    "Tensor.any": lambda L: (row(L).any(), (row(L) > 5).any(), (square(L) > 3).any(dim=0)),
    "Tensor.argmax": lambda L: (block(L).argmax(), block(L).argmax(dim=-1), square(L).argmax(0, True)),
    "Tensor.backward": backward,
    "Tensor.bmm": lambda L: block(L).bmm(block(L).transpose(1, 2)),
    "Tensor.chunk": lambda L: (block(L).chunk(2, dim=1), row(L).chunk(5)),
    "Tensor.clamp": lambda L: (row(L).clamp(-1, 1), row(L).clamp(min=0), row(L).clamp(max=L.tensor(2.0))),
    "Tensor.clamp_min": lambda L: row(L).clamp_min(0.5),
    "Tensor.clamp_min_": lambda L: changed(row(L), "clamp_min_", 0.5),
    "Tensor.clone": lambda L: (leaf(L).clone(), square(L).t().clone().stride()),
    "Tensor.conj": lambda L: (L.tensor([1 + 2j, 3 - 1j]).conj().resolve_conj(), row(L).conj()),
    "Tensor.contiguous": lambda L: (square(L).t().contiguous().stride(), row(L).contiguous()),
    "Tensor.copy_": lambda L: changed(square(L), "copy_", L.tensor([7, 8])),
    "Tensor.cos": lambda L: row(L).cos(),
    "Tensor.cpu": lambda L: (row(L).cpu(), str(row(L).cpu().device)),
    "Tensor.cumsum": lambda L: (row(L).cumsum(0), square(L).cumsum(dim=1), L.tensor([True, True]).cumsum(0)),
    "Tensor.data": data,
    "Tensor.detach": lambda L: ((leaf(L) * 2).detach(), leaf(L).detach().requires_grad),
    "Tensor.device": lambda L: (str(row(L).device), row(L).device.type, row(L).device.index),
    "Tensor.diagonal": lambda L: (square(L).diagonal(), block(L).diagonal(1, 1, 2)),
    "Tensor.dim": lambda L: (L.tensor(1).dim(), block(L).dim()),
    "Tensor.div": lambda L: (row(L).div(2), row(L).div(2, rounding_mode="floor"), L.tensor([3]).div(2)),
    "Tensor.div_": lambda L: changed(row(L), "div_", 2),
    "Tensor.double": lambda L: row(L).double(),
    "Tensor.dtype": lambda L: (str(row(L).dtype), str(L.tensor(1).dtype), str(L.tensor(True).dtype)),
    "Tensor.eq": lambda L: (row(L).eq(1), row(L).eq(row(L))),
    "Tensor.exp": lambda L: row(L).exp(),
    "Tensor.exp_": lambda L: changed(row(L), "exp_"),
    "Tensor.expand": lambda L: (row(L).expand(2, 3), L.ones(2, 1).expand(-1, 3).stride()),
    "Tensor.expand_as": lambda L: L.tensor([[1.0], [2.0]]).expand_as(square(L)),
    "Tensor.fill_": lambda L: changed(square(L), "fill_", 5),
    "Tensor.flatten": lambda L: (block(L).flatten(), block(L).flatten(1).shape, L.tensor(1).flatten()),
    "Tensor.float": lambda L: (L.tensor([1, 2]).float(), L.tensor([True]).float()),
    "Tensor.gather": lambda L: square(L).gather(1, L.tensor([[0, 0], [1, 0]])),
    "Tensor.ge": lambda L: row(L).ge(1),
    "Tensor.grad": lambda L: (leaf(L).grad, backward(L)),
    "Tensor.grad_fn": lambda L: (leaf(L).grad_fn, (leaf(L) * 2).grad_fn.name(), leaf(L).exp().grad_fn.name()),
    "Tensor.gt": lambda L: row(L).gt(0),
    "Tensor.is_cuda": lambda L: row(L).is_cuda,
    "Tensor.is_sparse": lambda L: row(L).is_sparse,
    "Tensor.is_xpu": lambda L: row(L).is_xpu,
    "Tensor.item": lambda L: (L.tensor([[2.5]]).item(), L.tensor(3).item(), L.tensor(True).item()),
    "Tensor.le": lambda L: row(L).le(1),
    "Tensor.log": lambda L: row(L).abs().log(),
    "Tensor.log_": lambda L: changed(row(L).abs(), "log_"),
    "Tensor.long": lambda L: row(L).long(),
    "Tensor.lt": lambda L: row(L).lt(1),
    "Tensor.mT": lambda L: (block(L).mT, square(L).mT),
    "Tensor.masked_fill": lambda L: (row(L).masked_fill(row(L) < 0, 9.0), leaf(L).masked_fill(L.tensor(True), 0)),
    "Tensor.masked_scatter_": lambda L: changed(row(L), "masked_scatter_", row(L) > 0, L.tensor([7.0, 8.0])),
    "Tensor.masked_select": lambda L: square(L).masked_select(square(L) > 1.5),
    "Tensor.matmul": lambda L: (square(L).matmul(square(L)), row(L).matmul(row(L)), block(L) @ block(L).mT),
    "Tensor.max": lambda L: (row(L).max(), tuple(square(L).max(dim=1)), row(L).max(row(L) * 2)),
    "Tensor.mean": lambda L: (row(L).mean(), block(L).mean(dim=(0, 2), keepdim=True)),
    "Tensor.mm": lambda L: square(L).mm(square(L)),
    "Tensor.mul": lambda L: (row(L).mul(2), row(L).mul(row(L)), 3 * row(L)),
    "Tensor.mul_": lambda L: changed(row(L), "mul_", -1),
    "Tensor.ndim": lambda L: (block(L).ndim, L.tensor(1).ndim),
    "Tensor.ne": lambda L: row(L).ne(1),
    "Tensor.neg": lambda L: (row(L).neg(), -leaf(L)),
    "Tensor.neg_": lambda L: changed(row(L), "neg_"),
    "Tensor.new_ones": lambda L: (row(L).new_ones(2, 2), row(L).new_ones((1,), dtype=L.int64)),
    "Tensor.new_tensor": lambda L: (row(L).new_tensor([1, 2]), L.tensor(1).new_tensor([1.5])),
    "Tensor.new_zeros": lambda L: (row(L).new_zeros(2), L.tensor(1).new_zeros((2, 1))),
    "Tensor.norm": lambda L: (row(L).norm(), square(L).norm(p=1, dim=1), row(L).norm(float("inf"))),
    "Tensor.numel": lambda L: (block(L).numel(), L.tensor(1).numel()),
    "Tensor.numpy": lambda L: (row(L).numpy().tolist(), str(L.tensor([1]).numpy().dtype)),
    "Tensor.permute": lambda L: (block(L).permute(2, 0, 1), block(L).permute((1, 0, 2)).stride()),
    "Tensor.pow": lambda L: (row(L).pow(2), row(L).abs().pow(0.5), row(L) ** L.tensor([1.0, 2.0, 3.0])),
    "Tensor.pow_": lambda L: changed(row(L), "pow_", 3),
    "Tensor.prod": lambda L: (row(L).prod(), square(L).prod(dim=0)),
    "Tensor.reciprocal": lambda L: row(L).reciprocal(),
    "Tensor.relu": lambda L: row(L).relu(),
    "Tensor.remainder": lambda L: (row(L).remainder(2), L.tensor([-7, 7]).remainder(3)),
    "Tensor.repeat": lambda L: (row(L).repeat(2), square(L).repeat(1, 2)),
    "Tensor.requires_grad": requires_grad,
    "Tensor.requires_grad_": lambda L: changed(row(L), "requires_grad_"),
    "Tensor.reshape": lambda L: (block(L).reshape(4, -1), square(L).t().reshape(-1)),
    "Tensor.scatter_add_": lambda L: changed(L.zeros(3), "scatter_add_", 0, L.tensor([0, 2, 2]), row(L)),
    "Tensor.shape": lambda L: (tuple(block(L).shape), repr(block(L).shape), block(L).shape[-1], L.tensor(1).shape),
    "Tensor.sin": lambda L: row(L).sin(),
    "Tensor.size": lambda L: (tuple(block(L).size()), block(L).size(1), block(L).size(dim=-1)),
    "Tensor.split": lambda L: (block(L).split(2, dim=1), row(L).split([1, 2])),
    "Tensor.sqrt": lambda L: row(L).abs().sqrt(),
    "Tensor.sqrt_": lambda L: changed(row(L).abs(), "sqrt_"),
    "Tensor.squeeze": lambda L: (L.zeros(1, 2, 1).squeeze().shape, L.zeros(1, 2, 1).squeeze(0).shape),
    "Tensor.std": lambda L: (row(L).std(), square(L).std(dim=1), square(L).std(0, unbiased=False)),
    "Tensor.sub": lambda L: (row(L).sub(1), row(L).sub(row(L), alpha=2), row(L) - leaf(L)[0]),
    "Tensor.sub_": lambda L: changed(row(L), "sub_", 1),
    "Tensor.sum": lambda L: (row(L).sum(), block(L).sum(dim=(0, 1)), square(L).sum(1, True), L.tensor([True]).sum()),
    "Tensor.t": lambda L: (square(L).t(), row(L).t()),
    "Tensor.to": lambda L: (row(L).to(L.float64), row(L).to("cpu"), row(L).to(L.tensor(1)), row(L).to("cpu", L.int32)),
    "Tensor.to_dense": lambda L: row(L).to_dense(),
    "Tensor.to_sparse": lambda L: (
        L.eye(2).to_sparse().indices(),
        L.eye(2).to_sparse(1).values(),
        L.eye(2).to_sparse()._nnz(),
    ),
    "Tensor.tolist": lambda L: (block(L).tolist(), L.tensor(2).tolist(), L.tensor([True]).tolist()),
    "Tensor.transpose": lambda L: (block(L).transpose(0, 2), block(L).transpose(-1, -2).stride()),
    "Tensor.tril": lambda L: (square(L).tril(), block(L).tril(-1)),
    "Tensor.triu": lambda L: (square(L).triu(), block(L).triu(diagonal=1)),
    "Tensor.type": lambda L: (row(L).type(), row(L).type(L.int64), row(L).type("torch.DoubleTensor")),
    "Tensor.type_as": lambda L: row(L).type_as(L.tensor(1)),
    "Tensor.unbind": lambda L: (square(L).unbind(), block(L).unbind(dim=1)),
    "Tensor.uniform_": lambda L: (L.manual_seed(0), L.empty(4).uniform_(-1, 2))[1],
    "Tensor.unique": lambda L: (
        L.tensor([3, 1, 3]).unique(),
        L.tensor([3, 1, 3]).unique(return_inverse=True, return_counts=True),
    ),
    "Tensor.unsqueeze": lambda L: (row(L).unsqueeze(0), row(L).unsqueeze(-1)),
    "Tensor.view": gradient_of_view,
    "Tensor.view_as": lambda L: block(L).view_as(L.zeros(6, 4)),
    "FloatTensor": lambda L: (L.FloatTensor([1, 2]), L.FloatTensor(2, 3).shape, isinstance(row(L), L.FloatTensor)),
    "LongTensor": lambda L: (L.LongTensor([[1], [2]]), row(L).type(L.LongTensor), isinstance(row(L), L.LongTensor)),
    "Size": lambda L: (repr(L.Size([2, 3])), L.Size((2, 3)).numel(), copy.copy(L.Size([1])), L.Size([1]) + L.Size([2])),
}
