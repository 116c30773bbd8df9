"""A module fitted and tested by Lightning's Trainer."""

import lightning
import torch
from report import report, steps


class Module(lightning.LightningModule):
    """A small network, its steps and its optimizer with a schedule."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
        self.seen = []

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        self.seen.append(loss.detach())
        return loss

    def test_step(self, batch, index):
        self.log("error", torch.nn.functional.l1_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)]


lightning.seed_everything(0, verbose=False)
x, y = torch.randn(16, 6), torch.randn(16, 2)
batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
module = Module()
quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False, "logger": False}
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", gradient_clip_val=1.0, **quiet)
for _ in steps(1):
    trainer.fit(module, batches)
report(
    loss=module.seen,
    error=torch.tensor(trainer.test(module, batches, verbose=False)[0]["error"]),
    weight=module.net[0].weight,
)
