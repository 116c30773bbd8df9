"""Sparse gradients in training: embeddings, gather, optimizers, saving, and a graph network beside torch."""

import copy
import io
import pickle

import pytest
import torch

import adjoint

from ..compare import CLOSE, same
from . import KINDS, coo, dense, seen, settled


def weight(L):
    return dense(L, 6, 2).requires_grad_()


EMBEDDINGS = {
    "embedding": lambda L, w: L.nn.functional.embedding(L.tensor([[1, 3], [1, 0]]), w, sparse=True),
    "padding": lambda L, w: L.nn.functional.embedding(L.tensor([1, 3, 1]), w, padding_idx=1, sparse=True),
    "one": lambda L, w: L.nn.functional.embedding(L.tensor(4), w, sparse=True),
    "none": lambda L, w: L.nn.functional.embedding(L.empty(0, dtype=L.int64), w, sparse=True),
    "bag_sum": lambda L, w: L.nn.functional.embedding_bag(
        L.tensor([1, 3, 1, 0, 5]), w, L.tensor([0, 2]), mode="sum", sparse=True
    ),
    "bag_mean": lambda L, w: L.nn.functional.embedding_bag(
        L.tensor([1, 3, 1, 0, 5]), w, L.tensor([0, 2]), mode="mean", sparse=True
    ),
    "bag_padding": lambda L, w: L.nn.functional.embedding_bag(
        L.tensor([1, 3, 1, 0, 5]), w, L.tensor([0, 2]), mode="sum", sparse=True, padding_idx=3
    ),
    "bag_rows": lambda L, w: L.nn.functional.embedding_bag(L.tensor([[1, 3], [5, 0]]), w, sparse=True),
    "bag_weights": lambda L, w: L.nn.functional.embedding_bag(
        L.tensor([1, 3, 1]),
        w,
        L.tensor([0, 2]),
        mode="sum",
        sparse=True,
        per_sample_weights=L.tensor([1.0, 2.0, 3.0], dtype=L.float64),
    ),
    "gather": lambda L, w: w.gather(1, L.tensor([[0, 0], [1, 0]]), sparse_grad=True),
    "gather_rows": lambda L, w: L.gather(w, 0, L.tensor([[5, 0]]), sparse_grad=True),
}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_sparse_gradients_of_reads(name):
    def call(L):
        w = weight(L)
        (EMBEDDINGS[name](L, w) ** 2).sum().backward()
        return seen(w.grad)

    same(call)


@pytest.mark.parametrize("name", [name for name in EMBEDDINGS if "bag" not in name and name != "none"])
def test_second_derivatives_of_reads(name):
    def call(L):
        w = weight(L)
        (first,) = L.autograd.grad((EMBEDDINGS[name](L, w) ** 3).sum(), w, create_graph=True)
        (second,) = L.autograd.grad(L.sparse.sum(first), w)
        return settled(second)

    same(call)


def test_frequencies_are_refused():
    def call(L):
        w = weight(L)
        L.nn.functional.embedding(L.tensor([1]), w, sparse=True, scale_grad_by_freq=True).sum().backward()

    same(call)


OPTIMIZERS = {
    "SGD": {},
    "SGD momentum": {"momentum": 0.9},
    "SGD nesterov": {"momentum": 0.9, "nesterov": True},
    "SGD dampening": {"momentum": 0.9, "dampening": 0.5},
    "SGD maximize": {"maximize": True},
    "SGD decay": {"weight_decay": 0.1},
    "Adagrad": {},
    "Adagrad decay": {"lr_decay": 0.1, "maximize": True},
    "Adagrad weight": {"weight_decay": 0.1},
    "SparseAdam": {},
    "SparseAdam maximize": {"maximize": True, "betas": (0.5, 0.7)},
    **{name: {} for name in ("Adadelta", "Adam", "AdamW", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")},
    "Adafactor": {},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    def call(L):
        w, dense_one = weight(L), weight(L)
        kind = getattr(L.optim, name.split()[0])
        optimizer = kind([w] if "Sparse" in name else [w, dense_one], lr=0.1, **OPTIMIZERS[name])
        for step in range(4):
            optimizer.zero_grad()
            rows = L.nn.functional.embedding(L.tensor([1, 3, 1] if step % 2 else [3, 4]), w, sparse=True)
            loss = (rows**2).sum()
            (loss if "Sparse" in name else loss + (dense_one**2).sum()).backward()
            optimizer.step()
        return [w.detach(), dense_one.detach()]

    same(call, bound={"float64": CLOSE["float64"] * 1e3})


def test_sparse_adam_refuses_what_is_dense():
    def step(L):
        w = weight(L)
        w.grad = L.ones_like(w)
        L.optim.SparseAdam([w]).step()

    same(step)
    same(lambda L: L.optim.SparseAdam([coo(L).requires_grad_()]))


@pytest.mark.parametrize("kind", KINDS)
def test_files_and_copies(kind):
    x = coo(adjoint, kind)
    file = io.BytesIO()
    adjoint.save({"x": x, "settled": x.coalesce()}, file)
    theirs = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
    assert theirs["x"].is_coalesced() == x.is_coalesced()
    assert theirs["x"].to_dense().tolist() == x.to_dense().tolist()
    file = io.BytesIO()
    torch.save(theirs, file)
    copies = [
        adjoint.load(io.BytesIO(file.getvalue()))["x"],
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        copy.copy(x),
    ]
    for other in copies:
        assert (other.layout, other.is_coalesced(), other.dtype) == (x.layout, x.is_coalesced(), x.dtype)
        assert adjoint.equal(other._indices(), x._indices())
        assert adjoint.equal(other._values(), x._values())


def test_files_are_checked():
    bad = torch.sparse_coo_tensor([[0, 9]], [1.0, 2.0], (3,))
    file = io.BytesIO()
    torch.save(bad, file)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        adjoint.load(io.BytesIO(file.getvalue()))


def test_modules_keep_sparse_buffers():
    module = adjoint.nn.Linear(2, 2)
    module.register_buffer("adjacency", coo(adjoint, "coalesced"))
    state = module.state_dict()
    file = io.BytesIO()
    adjoint.save(state, file)
    module.load_state_dict(adjoint.load(io.BytesIO(file.getvalue())))
    assert module.adjacency.layout is adjoint.sparse_coo
    assert module.double().adjacency.dtype is adjoint.float64
    assert copy.deepcopy(module).adjacency.layout is adjoint.sparse_coo


def graph(L, nodes=40, edges=160):
    """A normalised adjacency matrix, features and labels."""
    generator = torch.Generator().manual_seed(0)
    places = torch.randint(0, nodes, (2, edges), generator=generator)
    features = torch.rand(nodes, 8, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 3, (nodes,), generator=generator)
    places, features, labels = (L.tensor(value.tolist()) for value in (places, features, labels))
    loops = L.arange(nodes).expand(2, nodes)
    ones = L.ones(edges + nodes, dtype=L.float64)
    adjacency = L.sparse_coo_tensor(L.cat([places, loops], 1), ones, (nodes, nodes)).coalesce()
    degree = L.sparse.sum(adjacency, 1).to_dense()
    values = adjacency.values() / degree[adjacency.indices()[0]]
    return L.sparse_coo_tensor(adjacency.indices(), values, (nodes, nodes)).coalesce(), features.double(), labels


def test_a_graph_network_learns_with_torchs_losses():
    def call(L):
        adjacency, features, labels = graph(L)
        parameters = [(dense(L, 8, 16) - 0.5).requires_grad_(), (dense(L, 16, 3, seed=2) - 0.5).requires_grad_()]
        optimizer, losses = L.optim.Adam(parameters, lr=0.05), []
        for _ in range(20):
            optimizer.zero_grad()
            hidden = L.relu(L.sparse.mm(adjacency, features @ parameters[0]))
            loss = L.nn.functional.cross_entropy(adjacency @ (hidden @ parameters[1]), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    losses = same(call, bound={"float64": CLOSE["float64"] * 1e5})
    assert losses is not None


def test_attention_over_edges_learns_with_torchs_losses():
    """The entries of the matrix are learnt: softmax over the edges of each node."""

    def call(L):
        adjacency, features, labels = graph(L)
        scores = (dense(L, adjacency._nnz()) - 0.5).requires_grad_()
        out = (dense(L, 8, 3, seed=2) - 0.5).requires_grad_()
        optimizer, losses = L.optim.SGD([scores, out], lr=0.5), []
        for _ in range(10):
            optimizer.zero_grad()
            attention = L.sparse.softmax(L.sparse_coo_tensor(adjacency.indices(), scores, adjacency.shape), 1)
            loss = L.nn.functional.cross_entropy(L.sparse.mm(attention, features) @ out, labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    same(call, bound={"float64": CLOSE["float64"] * 1e5})


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    """Ops drawn one after the other, of sparse tensors and of the dense ones that they stand for."""
    generator = torch.Generator().manual_seed(seed)
    x = coo(adjoint, ("coalesced", "uncoalesced", "cube")[seed % 3], seed=seed).requires_grad_()
    plain = x.detach().to_dense().requires_grad_()
    steps = [
        lambda s, p: (s * 1.5, p * 1.5),
        lambda s, p: (s + s, p + p),
        lambda s, p: (s.coalesce().sin(), p.sin()),
        lambda s, p: (s.transpose(0, 1), p.transpose(0, 1)),
        lambda s, p: (s * p.detach(), p * p.detach()),
        lambda s, p: (adjoint.cat([s, s * 2]), adjoint.cat([p, p * 2])),
        lambda s, p: (s[1:], p[1:]),
        lambda s, p: (s.index_select(1, adjoint.tensor([0, 1, 1])), p.index_select(1, adjoint.tensor([0, 1, 1]))),
        lambda s, p: (s.unsqueeze(0).squeeze(0), p),
        lambda s, p: (s - s.coalesce().tanh(), p - p.tanh()),
        lambda s, p: (s.clone().mul_(2), p * 2),
    ]
    s, p = x, plain
    for choice in torch.randint(0, len(steps), (5,), generator=generator).tolist():
        s, p = steps[choice](s, p)
        assert adjoint.allclose(s.to_dense(), p)
    kept = (x.detach().to_dense() != 0).double()
    (first,) = adjoint.autograd.grad((s.to_dense() ** 2).sum(), x)
    (second,) = adjoint.autograd.grad((p**2).sum(), plain)
    assert adjoint.allclose(first.to_dense() * kept, second * kept)
