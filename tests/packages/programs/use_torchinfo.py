"""The summary of a convolutional network: sizes of outputs, parameters and multiplications."""

import torch
from report import report, train
from torchinfo import summary

torch.manual_seed(0)
x, labels = torch.randn(4, 1, 12, 12), torch.tensor([0, 1, 2, 1])
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(100, 3)
)
train(model, lambda: torch.nn.functional.cross_entropy(model(x), labels))
found = summary(model, input_size=(4, 1, 12, 12), verbose=0, col_names=("output_size", "num_params", "mult_adds"))
report(
    parameters=found.total_params,
    multiplications=found.total_mult_adds,
    outputs=found.total_output_bytes,
    text=[ord(letter) for letter in str(found)],
)
