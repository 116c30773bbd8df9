"""TabNet on a small table: sparse attention over columns, trained by its own loop."""

import numpy as np
import torch
from pytorch_tabnet.tab_model import TabNetRegressor
from pytorch_tabnet.tab_network import TabNet
from report import report, steps, train

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, y = torch.randn(16, 5), torch.randn(16, 2)
groups = torch.eye(5)
model = TabNet(5, 2, n_d=4, n_a=4, n_steps=2, virtual_batch_size=8, group_attention_matrix=groups)
train(model, lambda: torch.nn.functional.mse_loss(model(x)[0], y) - 1e-3 * model(x)[1])
torch.set_default_dtype(torch.float32)
table = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
whole = TabNetRegressor(n_d=4, n_a=4, n_steps=2, verbose=0, device_name="cpu", seed=1)
for _ in steps(1):
    whole.fit(table, table[:, :1], max_epochs=2, batch_size=16, virtual_batch_size=8, drop_last=False)
report(predicted=whole.predict(table).shape, losses=np.asarray(whole.history["loss"]).shape)
