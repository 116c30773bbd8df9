"""A multilayer perceptron learns to read digits: the ordinary training loop, from start to end.

The images are drawn by digits.py, so there is nothing to download.
"""

from common import arguments, train
from digits import make_digits

import adjoint as torch
from adjoint import nn, optim

SIZE = 16
BATCH = 64


def make_model():
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(SIZE * SIZE, 256),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def training(images, labels):
    """The model, its optimizer, and the function that makes one training step and returns the loss."""
    model = make_model()
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    return model, optimizer, make_step(model, optimizer, images, labels)


def make_step(model, optimizer, images, labels):
    """A function that shows the model images picked at random, and corrects it."""

    def step():
        batch = torch.randint(len(images), (BATCH,))
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


@torch.no_grad()
def accuracy(model, images, labels):
    """The part of the images that the model reads rightly."""
    model.eval()  # no dropout
    right = (model(images).argmax(1) == labels).float().mean()
    model.train()
    return right.item()


def main():
    options = arguments(__doc__, steps=600)
    torch.manual_seed(options.seed)
    images, labels = make_digits(4000, SIZE, options.seed)
    model, optimizer, step = training(images[:3000], labels[:3000])
    train(step, options, model=model, optimizer=optimizer)
    print(f"accuracy on 1000 images not trained on: {accuracy(model, images[3000:], labels[3000:]):.1%}")


if __name__ == "__main__":
    main()
