"""Training steps of the examples' models: the very programs in `examples/`, with either library under their import."""

import importlib
import sys
from pathlib import Path

from cases import Case

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))


def example(name, data):
    """What makes the training step of an example on `data(its module)`, once for the library of this process."""

    def make(torch):
        sys.modules["adjoint"] = torch  # what `import adjoint as torch` finds in the example
        module = importlib.import_module(name)
        *_, step = module.training(*data(module))
        return step

    return make


def digits(module):
    return importlib.import_module("digits").make_digits(500, module.SIZE, seed=0)


CASES = [
    Case("train_mlp", "training", "MLP 256-256-128-10, 64 images, AdamW", example("mlp", digits), ""),
    Case("train_cnn", "training", "CNN of 3 layers, 64 images of 28x28, SGD", example("cnn", digits), ""),
    Case(
        "train_gpt",
        "training",
        "GPT of 4 layers, width 128, 8 x 128 characters, AdamW",
        example("gpt", lambda module: [module.encode(module.standard_library())]),
        "",
    ),
    Case(
        "train_lstm",
        "training",
        "LSTM of 2 layers, width 128, 64 x 15 letters, Adam",
        example("lstm", lambda module: [module.words()[1]]),
        "",
    ),
]
