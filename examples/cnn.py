"""A convolutional network with batch normalisation learns to read digits; then shows what it takes for what.

Convolutions see the same stroke wherever it lies, so that far fewer images are enough than for mlp.py.
"""

from common import arguments, train
from digits import make_digits, show
from mlp import accuracy, make_step

import adjoint as torch
from adjoint import nn, optim

SIZE = 28


def block(channels_in, channels_out):
    """Convolution, normalisation and pooling, which halves both sides of the image."""
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(1, 16), block(16, 32), block(32, 64))
        self.classify = nn.Linear(64 * 3 * 3, 10)

    def forward(self, images):
        return self.classify(self.features(images).flatten(1))


def training(images, labels):
    """The model, its optimizer, and the function that makes one training step and returns the loss."""
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-4)
    return model, optimizer, make_step(model, optimizer, images, labels)


@torch.no_grad()
def worst(model, images, labels):
    """The image whose digit the model finds least likely, its digit, and what the model takes it for."""
    model.eval()
    scores = model(images)
    index = nn.functional.cross_entropy(scores, labels, reduction="none").argmax()
    return images[index, 0], labels[index].item(), scores[index].argmax().item()


def main():
    options = arguments(__doc__, steps=200)
    torch.manual_seed(options.seed)
    images, labels = make_digits(1500, SIZE, options.seed)
    model, optimizer, step = training(images[:1000], labels[:1000])
    train(step, options, model=model, optimizer=optimizer)
    print(f"accuracy on 500 images not trained on: {accuracy(model, images[1000:], labels[1000:]):.1%}")
    image, digit, taken_for = worst(model, images[1000:], labels[1000:])
    print(f"the hardest of them, a {digit}, which the network takes for a {taken_for}:\n{show(image)}")


if __name__ == "__main__":
    main()
