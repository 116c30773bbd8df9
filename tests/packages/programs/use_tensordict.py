"""Dictionaries of tensors: indexed, stacked and reshaped as one, and modules that read and write them."""

import torch
from report import report, train
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential

torch.manual_seed(0)
data = TensorDict({"x": torch.randn(6, 4), "inner": {"y": torch.randn(6, 2)}}, batch_size=[6])
model = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(4, 8), in_keys=["x"], out_keys=["hidden"]),
    TensorDictModule(torch.nn.Tanh(), in_keys=["hidden"], out_keys=["hidden"]),
    TensorDictModule(torch.nn.Linear(8, 2), in_keys=["hidden"], out_keys=["out"]),
)


def loss():
    found = model(data.clone())
    return (found["out"] - found["inner", "y"]).square().mean()


train(model, loss)
weights = TensorDict.from_module(model)
stacked = torch.stack([data, data.apply(lambda value: 2 * value)])
report(sum=stacked.sum(0)["x"], part=stacked[:, 1:3].reshape(4)["inner", "y"])
with weights.apply(torch.zeros_like).to_module(model):
    report(zero=model(data.clone())["out"])
