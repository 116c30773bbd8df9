"""A loop of training prepared by Accelerator, with gradients gathered over two batches and clipped."""

import torch
from accelerate import Accelerator
from report import report, steps

torch.manual_seed(0)
x, y = torch.randn(16, 6), torch.randn(16, 2)
model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)
batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model, optimizer, batches, schedule = accelerator.prepare(model, optimizer, batches, schedule)
losses = []
for _ in steps():
    for inputs, targets in batches:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).mean())
report(losses=losses, weight=accelerator.unwrap_model(model)[0].weight, rate=schedule.get_last_lr())
