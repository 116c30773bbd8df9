"""Reinforcement learning: a policy collected from, advantages estimated, and the loss of PPO."""

import torch
from report import report, steps
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.modules import OneHotCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

torch.manual_seed(0)
policy = ProbabilisticActor(
    TensorDictModule(torch.nn.Linear(4, 3), in_keys=["observation"], out_keys=["logits"]),
    in_keys=["logits"],
    distribution_class=OneHotCategorical,
    return_log_prob=True,
)
value = ValueOperator(torch.nn.Linear(4, 1))
seen = torch.randn(1, 9, 4)
ends = torch.zeros(1, 8, 1, dtype=torch.bool)
data = TensorDict(
    {
        "observation": seen[:, :-1],
        "next": {"observation": seen[:, 1:], "reward": torch.randn(1, 8, 1), "done": ends, "terminated": ends},
    },
    batch_size=[1, 8],
)
with torch.no_grad():
    data = policy(data)
ppo = ClipPPOLoss(policy, value)
advantage = GAE(gamma=0.9, lmbda=0.95, value_network=value)
optimizer = torch.optim.SGD(ppo.parameters(), lr=0.05)
losses = []
for _ in steps():
    advantage(data)
    found = ppo(data)
    loss = found["loss_objective"] + found["loss_critic"] + found["loss_entropy"]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
report(loss=losses, advantage=data["advantage"], **dict(ppo.named_parameters()))
buffer = ReplayBuffer(storage=LazyTensorStorage(8), batch_size=4)
buffer.extend(data.reshape(-1))
report(sampled=buffer.sample()["observation"])
