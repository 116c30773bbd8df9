"""Graph networks: convolution, attention and isomorphism layers on a batch of two graphs."""

import torch
from report import report, train
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool
from torch_geometric.utils import degree, softmax, to_dense_adj

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
graphs = [Data(x=torch.randn(4, 5), edge_index=edges, y=torch.tensor([k])) for k in range(2)]
batch = Batch.from_data_list(graphs)


class Net(torch.nn.Module):
    """One layer of each kind."""

    def __init__(self):
        super().__init__()
        self.gcn, self.gat = GCNConv(5, 8), GATConv(8, 4, heads=2)
        self.gin, self.sage = GINConv(torch.nn.Linear(8, 8)), SAGEConv(8, 8)
        self.head = torch.nn.Linear(8, 2)

    def forward(self, data):
        x = self.gcn(data.x, data.edge_index).relu()
        x = self.gat(x, data.edge_index).relu()
        x = self.sage(self.gin(x, data.edge_index).relu(), data.edge_index)
        return self.head(global_mean_pool(x, data.batch))


model = Net()
train(model, lambda: torch.nn.functional.cross_entropy(model(batch), batch.y))
report(
    adjacency=to_dense_adj(batch.edge_index, batch.batch),
    degree=degree(batch.edge_index[0]),
    softmax=softmax(torch.randn(16), batch.edge_index[0]),
)
