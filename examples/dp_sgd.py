"""Training with differential privacy (DP-SGD): what the network has learned betrays little of any single image.

Each image's own gradient, from `torch.func.per_sample_grads`, is cut to a length of at most 1; noise that drowns a
vector of this length is added to their sum. How much is betrayed after all steps is a matter of account: a bound, e to
the epsilon, on how much likelier any outcome becomes by one image more or less, but for a chance of delta.
"""

import math

from common import arguments, train
from digits import make_digits
from mlp import accuracy

import adjoint as torch
from adjoint import nn, optim

SIZE = 16
CHANCE = 0.04  # of an image to be in a batch: that batches are random is part of the privacy
LONGEST = 1.0  # length of a gradient
NOISE = 1.5  # its standard deviation, relative to LONGEST
DELTA = 1e-5


def make_model():
    return nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, 32), nn.Tanh(), nn.Linear(32, 10))


def loss_of(model, image, label):
    """Of a single image."""
    return nn.functional.cross_entropy(model(image[None]), label[None])


def random_batch(images, labels):
    """Each image with the same chance, so that batches have different sizes."""
    chosen = torch.rand(len(images)) < CHANCE
    return images[chosen], labels[chosen]


def private_gradients(model, images, labels):
    """The sum of the gradients of all images, each cut to LONGEST, with noise, over the mean size of a batch."""
    gradients = torch.func.per_sample_grads(model, loss_of, *random_batch(images, labels))
    lengths = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).norm(dim=0)
    factors = (LONGEST / lengths).clamp(max=1)
    for name, gradient in gradients.items():
        total = torch.tensordot(factors, gradient, 1)
        noise = NOISE * LONGEST * torch.randn_like(total)
        yield name, (total + noise) / (CHANCE * len(images))


def divergence(order):
    """Rényi's, of this whole order, between the outcomes of a step with one image more and without it.

    For Gaussian noise on random batches it is a sum of binomial terms (Mironov, Talwar and Zhang, "Rényi differential
    privacy of the sampled Gaussian mechanism", 2019).
    """

    def logarithm_of_term(k):
        binomial = math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
        drawn = (order - k) * math.log1p(-CHANCE) + k * math.log(CHANCE)
        return binomial + drawn + k * (k - 1) / (2 * NOISE**2)

    terms = torch.tensor([logarithm_of_term(k) for k in range(order + 1)], dtype=torch.float64)
    return terms.logsumexp(0).item() / (order - 1)


def epsilon(steps):
    """Divergences add up over steps, and each order has a bound; this is the least."""
    return min(steps * divergence(order) + math.log(1 / DELTA) / (order - 1) for order in range(2, 64))


def make_step(model, optimizer, gradients, images, labels):
    """A function that corrects the model by the gradients that it is given, and returns the loss on all images.

    The account is for the model: who is shown this loss learns more.
    """

    def step():
        for name, gradient in gradients(model, images, labels):
            model.get_parameter(name).grad = gradient
        optimizer.step()
        with torch.no_grad():
            return nn.functional.cross_entropy(model(images), labels)

    return step


def plain_gradients(model, images, labels):
    """The same without privacy."""
    images, labels = random_batch(images, labels)
    loss = nn.functional.cross_entropy(model(images), labels)
    names, parameters = zip(*model.named_parameters(), strict=True)
    return zip(names, torch.autograd.grad(loss, parameters), strict=True)


def training(gradients, images, labels):
    model = make_model()
    optimizer = optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    return model, optimizer, make_step(model, optimizer, gradients, images, labels)


def main():
    options = arguments(__doc__, steps=150)
    torch.manual_seed(options.seed)
    images, labels = make_digits(4000, SIZE, options.seed)
    known, unknown = (images[:3000], labels[:3000]), (images[3000:], labels[3000:])
    model, optimizer, step = training(private_gradients, *known)
    train(step, options, model=model, optimizer=optimizer)
    plain, _, step = training(plain_gradients, *known)
    for _ in range(options.steps):
        step()
    print(f"accuracy on 1000 images not trained on: {accuracy(model, *unknown):.1%} ", end="")
    print(f"with epsilon {epsilon(options.steps):.2f} and delta {DELTA:.0e}, {accuracy(plain, *unknown):.1%} without")


if __name__ == "__main__":
    main()
