"""A classifier of skorch, fitted and scored as those of scikit-learn are."""

import numpy as np
import torch
from report import report, steps
from skorch import NeuralNetClassifier
from skorch.callbacks import EpochScoring

torch.manual_seed(0)
numbers = np.random.default_rng(0)
x, y = numbers.normal(size=(40, 6)).astype("float32"), numbers.integers(0, 3, 40)
net = NeuralNetClassifier(
    lambda: torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 3), torch.nn.Softmax(-1)),
    max_epochs=3,
    lr=0.1,
    batch_size=10,
    iterator_train__shuffle=True,
    callbacks=[("score", EpochScoring("f1_macro", lower_is_better=False))],
    verbose=0,
)
for _ in steps(2):  # the first also imports what the optimizers of torch need
    net.fit(x, y)
losses = {name: np.float32(net.history[:, f"{name}_loss"]) for name in ("train", "valid")}  # floats of float32
report(**losses, f1=net.history[:, "f1_macro"])
report(probabilities=net.predict_proba(x), score=net.score(x, y))
