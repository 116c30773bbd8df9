"""An equivariant layer: spherical harmonics, a tensor product and a gate."""

import torch
from e3nn import o3
from e3nn.nn import FullyConnectedNet, Gate
from report import report, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
features, places = o3.Irreps("4x0e + 2x1o"), torch.randn(6, 3)
around = o3.Irreps.spherical_harmonics(2)
gate = Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")


class Layer(torch.nn.Module):
    """A convolution over all pairs of points."""

    def __init__(self):
        super().__init__()
        self.product = o3.FullyConnectedTensorProduct(features, around, gate.irreps_in, shared_weights=False)
        self.weights = FullyConnectedNet([1, 8, self.product.weight_numel], torch.tanh)
        self.linear = o3.Linear(gate.irreps_out, "2x0e")

    def forward(self, x, places):
        between = (places[:, None] - places[None]).reshape(-1, 3)
        angles = o3.spherical_harmonics(around, between, normalize=False, normalization="component")
        pairs = x[None].expand(6, 6, -1).reshape(36, -1)
        found = self.product(pairs, angles, self.weights(between.norm(dim=1, keepdim=True)))
        return self.linear(gate(found.reshape(6, 6, -1).mean(1)))


layer, x = Layer(), features.randn(6, -1)
train(layer, lambda: layer(x, places).square().mean())
report(wigner=o3.wigner_3j(1, 1, 2), matrix=features.D_from_matrix(o3.rand_matrix()))
