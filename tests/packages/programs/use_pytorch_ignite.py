"""A trainer and an evaluator of ignite, with metrics, handlers and a schedule."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import LinearCyclicalScheduler
from ignite.metrics import Accuracy, ConfusionMatrix, Fbeta, Loss, Precision, Recall
from report import report, steps

torch.manual_seed(0)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
batches = list(zip(x.split(4), y.split(4), strict=True))
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
trainer = create_supervised_trainer(model, optimizer, torch.nn.functional.cross_entropy)
trainer.add_event_handler(Events.ITERATION_STARTED, LinearCyclicalScheduler(optimizer, "lr", 0.05, 0.2, 4))
losses = []
trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))
for _ in steps(1):
    trainer.run(batches, max_epochs=2)
metrics = {"accuracy": Accuracy(), "loss": Loss(torch.nn.functional.cross_entropy), "precision": Precision()}
metrics |= {"recall": Recall(), "confusion": ConfusionMatrix(3), "f1": Fbeta(1)}
found = create_supervised_evaluator(model, metrics).run(batches).metrics
report(losses=losses, **found)
report(**dict(model.named_parameters()))
