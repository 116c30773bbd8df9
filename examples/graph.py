"""A graph network tells communities apart: each node hears of its neighbours through a sparse matrix.

The graph is drawn at random: most edges stay within a community, some lead elsewhere, and what is known of a node says
little of where it belongs. The class of one node in twenty is given; the others are found.
"""

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

NODES, COMMUNITIES, EDGES, FEATURES = 2000, 4, 10000, 16


def make_graph(seed):
    """(adjacency, features, labels): the matrix is sparse, and takes means over neighbours."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(COMMUNITIES, (NODES,), generator=generator)
    source, target = torch.randint(NODES, (2, 6 * EDGES), generator=generator)
    kept = (labels[source] == labels[target]) | (torch.rand(6 * EDGES, generator=generator) < 0.1)
    source, target = source[kept][:EDGES], target[kept][:EDGES]
    loops = torch.arange(NODES)
    places = torch.stack([torch.cat([source, target, loops]), torch.cat([target, source, loops])])
    ones = torch.ones(places.shape[1])
    adjacency = torch.sparse_coo_tensor(places, ones, (NODES, NODES), check_invariants=True).coalesce()
    degree = torch.sparse.sum(adjacency, 1).to_dense()
    values = adjacency.values() / degree[adjacency.indices()[0]]
    mean = torch.sparse_coo_tensor(adjacency.indices(), values, adjacency.shape, check_invariants=True).coalesce()
    hints = nn.functional.one_hot(labels, FEATURES) * 0.5
    return mean, hints + torch.randn(NODES, FEATURES, generator=generator), labels


class GraphNetwork(nn.Module):
    """Two layers, each of which mixes what neighbours know."""

    def __init__(self, adjacency):
        super().__init__()
        self.register_buffer("adjacency", adjacency, persistent=False)
        self.first = nn.Linear(FEATURES, 32)
        self.second = nn.Linear(32, COMMUNITIES)

    def forward(self, features):
        hidden = torch.relu(torch.sparse.mm(self.adjacency, self.first(features)))
        return torch.sparse.mm(self.adjacency, self.second(hidden))


def make_step(model, optimizer, features, labels, known):
    """A function that shows the model the classes that are known."""

    def step():
        loss = nn.functional.cross_entropy(model(features)[known], labels[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def main():
    options = arguments(__doc__, steps=100)
    torch.manual_seed(options.seed)
    adjacency, features, labels = make_graph(options.seed)
    known = torch.arange(0, NODES, 20)
    model = GraphNetwork(adjacency)
    optimizer = optim.AdamW(model.parameters(), lr=0.02)
    train(make_step(model, optimizer, features, labels, known), options, model=model, optimizer=optimizer)
    with torch.no_grad():
        right = (model(features).argmax(1) == labels).float().mean().item()
    print(f"{NODES} nodes, {adjacency._nnz()} entries; right of all nodes: {right:.1%}")


if __name__ == "__main__":
    main()
