"""Tensors: creation, indexing, slices, arithmetic with numbers, and the types of what ops give."""

import math
from typing import Literal, assert_type

import numpy as np

import adjoint as torch
from adjoint import Tensor

x = torch.randn(3, 4, dtype=torch.float64, device="cpu", requires_grad=True)
i = torch.tensor([0, 2])
mask = x > 0

# What a tensor is
assert_type(torch.float32, torch.dtype)
assert_type(x.dtype, torch.dtype)
assert_type(x.device, torch.device)
assert_type(torch.device("cpu", 0).index, int | None)
assert_type(x.shape, torch.Size)
assert_type(x.shape[0], int)
assert_type(x.shape[:-1], torch.Size)
assert_type(x.size(), torch.Size)
assert_type(x.size(0), int)
assert_type(x.ndim, int)
assert_type(x.grad, Tensor | None)
assert_type(x.requires_grad, bool)
assert_type(x.numel(), int)
assert_type(x.stride(), tuple[int, ...])
assert_type(x.T, Tensor)
assert_type(x.is_contiguous(), bool)
batch, features = x.shape
assert_type(batch, int)

# Numbers and other libraries
assert_type(x.sum().item(), int | float | bool)
as_float: float = x.sum().item()
assert_type(float(x.sum()), float)
assert_type(int(i[0]), int)
assert_type(len(x), int)
assert_type(bool(mask.any()), bool)
rows: list[list[float]] = x.tolist()
array: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = x.detach().numpy()
assert_type(torch.from_numpy(array), Tensor)

# Indexing
assert_type(x[0], Tensor)
assert_type(x[0, 1:], Tensor)
assert_type(x[..., None, ::2], Tensor)
assert_type(x[mask], Tensor)
assert_type(x[i, [0, 1]], Tensor)
assert_type(x[i[0]], Tensor)
x[0] = 1
x[mask] = 0.0
x[:, 1] = x[:, 0]
assert_type([row for row in x], list[Tensor])
assert_type(list(zip(x, i, strict=False)), list[tuple[Tensor, Tensor]])

# Arithmetic
assert_type(x + 1, Tensor)
assert_type(1 - x, Tensor)
assert_type(2.0 * x / 3, Tensor)
assert_type(True + x, Tensor)
assert_type(2**x, Tensor)
assert_type(x**2, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(-x, Tensor)
assert_type(abs(x), Tensor)
assert_type(x // 2 % 3, Tensor)
assert_type(x == 1, Tensor)
assert_type(x != x, Tensor)
assert_type((x < 1) & ~mask | mask, Tensor)
assert_type(x + 1j, Tensor)
x += 1
x *= x
assert_type(x.add_(1).mul_(2), Tensor)
assert_type(sum([x, x]), Tensor | Literal[0])

# Ops
assert_type(x.max(), Tensor)
values, indices = x.max(dim=1)
assert_type(values, Tensor)
assert_type(x.max(dim=1).indices, Tensor)
assert_type(x.max(1, keepdim=True).values, Tensor)
assert_type(torch.max(x, x), Tensor)
assert_type(torch.min(x, dim=0)[0], Tensor)
assert_type(x.median(), Tensor)
assert_type(x.median(dim=0).values, Tensor)
assert_type(x.sort(dim=-1, descending=True).indices, Tensor)
assert_type(torch.sort(x)[0], Tensor)
top, where_ = x.topk(2, dim=1, largest=False)
assert_type(top, Tensor)
assert_type(x.kthvalue(1).values, Tensor)
assert_type(x.softmax(dim=-1), Tensor)
assert_type(torch.softmax(x, 1), Tensor)
assert_type(torch.softmax(x, dim=1, dtype=torch.float32), Tensor)
assert_type(x.log_softmax(-1), Tensor)
assert_type(x.sum(dim=(0, 1), keepdim=True), Tensor)
assert_type(x.mean(0), Tensor)
assert_type(x.argmax(), Tensor)
assert_type(x.argmax(dim=1, keepdim=True), Tensor)
assert_type(torch.where(mask, x, 0.0), Tensor)
assert_type(torch.where(mask), tuple[Tensor, ...])
assert_type(mask.nonzero(), Tensor)
assert_type(mask.nonzero(as_tuple=True), tuple[Tensor, ...])
assert_type(x.split(2), tuple[Tensor, ...])
assert_type(x.split([1, 2], dim=0), tuple[Tensor, ...])
assert_type(torch.chunk(x, 2), tuple[Tensor, ...])
assert_type(x.unbind(0), tuple[Tensor, ...])
assert_type(torch.cat([x, x], dim=0), Tensor)
assert_type(torch.stack((x, x)), Tensor)
assert_type(x.view(-1), Tensor)
assert_type(x.view(2, 6), Tensor)
assert_type(x.view(torch.int64), Tensor)
assert_type(x.reshape(x.shape[0], -1), Tensor)
assert_type(x.reshape((4, 3)), Tensor)
assert_type(x.permute(1, 0), Tensor)
assert_type(x.expand(2, -1, -1), Tensor)
assert_type(x.expand(torch.Size([2, 3, 4])), Tensor)
assert_type(x.transpose(0, 1).contiguous(), Tensor)
assert_type(x.squeeze().unsqueeze(0).flatten(1), Tensor)
assert_type(x.repeat(2, 1), Tensor)
assert_type(x.clamp(min=0), Tensor)
assert_type(x.clamp(0, x), Tensor)
assert_type(x.to(torch.float32), Tensor)
assert_type(x.to("cpu", torch.float32, non_blocking=True), Tensor)
assert_type(x.to(x), Tensor)
assert_type(x.float().long().bool(), Tensor)
assert_type(x.detach().clone().cpu(), Tensor)
assert_type(x.masked_fill(mask, -math.inf), Tensor)
assert_type(x.gather(1, i[:, None]), Tensor)
assert_type(x.index_add(0, i, x), Tensor)
assert_type(torch.einsum("ij,kj->ik", x, x), Tensor)
assert_type(torch.allclose(x, x, atol=1e-3), bool)
assert_type(torch.equal(x, x), bool)
assert_type(x.norm(), Tensor)
assert_type(torch.linalg.norm(x, ord=2, dim=(0, 1)), Tensor)
assert_type(torch.linalg.svd(x).S, Tensor)
assert_type(torch.linalg.eigh(x @ x.T).eigenvalues, Tensor)
q, r = torch.linalg.qr(x)
assert_type(q, Tensor)
assert_type(torch.fft.rfft(x, n=8), Tensor)
assert_type(torch.special.expit(x), Tensor)
assert_type(torch.unique(i), Tensor)
assert_type(torch.unique(i, return_counts=True), tuple[Tensor, Tensor])
assert_type(x.std(dim=0, unbiased=False), Tensor)
assert_type(torch.nn.functional.cross_entropy(x, i, reduction="none"), Tensor)
assert_type(torch.nn.functional.max_pool1d(x, 2), Tensor)
assert_type(torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True), Tensor)
assert_type(x.is_floating_point(), bool)
assert_type(torch.is_grad_enabled(), bool)

# Creation
assert_type(torch.zeros(2, 3), Tensor)
assert_type(torch.zeros((2, 3)), Tensor)
assert_type(torch.ones(x.shape), Tensor)
assert_type(torch.empty(size=(2,)), Tensor)
assert_type(torch.full((2, 3), math.pi), Tensor)
assert_type(torch.arange(5), Tensor)
assert_type(torch.arange(0, 1, 0.1, dtype=torch.float32), Tensor)
assert_type(torch.linspace(0, 1, 5), Tensor)
assert_type(torch.randint(10, (3,)), Tensor)
assert_type(torch.randint(0, 10, (3,), generator=torch.Generator()), Tensor)
assert_type(torch.normal(0.0, 1.0, (3,)), Tensor)
assert_type(torch.zeros_like(x, dtype=torch.int64), Tensor)
assert_type(x.new_zeros(3), Tensor)
assert_type(torch.eye(3), Tensor)
assert_type(torch.meshgrid(x, x, indexing="ij"), tuple[Tensor, ...])
assert_type(torch.manual_seed(0), torch.Generator)

x["a"]  # error: mypy[index] pyright[reportArgumentType]
x + "a"  # error: mypy[operator] pyright[reportOperatorIssue]
x.softmax("dim")  # error: mypy[arg-type] pyright[reportArgumentType]
x.sum(dims=1)  # error: mypy[call-arg] pyright[reportCallIssue]
x.maxx()  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
torch.exp(1.0)  # error: mypy[arg-type] pyright[reportArgumentType]
torch.zeros(2, dtype="float32")  # error: mypy[call-overload] pyright[reportCallIssue]
torch.zeross(2)  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
x.shape = (3, 4)  # error: mypy[misc] pyright[reportAttributeAccessIssue]
x.topk(2).count_of  # error: mypy[attr-defined] pyright[reportAttributeAccessIssue]
