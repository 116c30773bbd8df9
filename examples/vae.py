"""A variational autoencoder learns to draw digits from eight numbers.

The encoder says, for an image, where in the space of those numbers it lies, with an uncertainty; the decoder draws
what lies at a place. The loss bounds the likelihood of the images: how well they are drawn again, and how far the
places are from a plain normal distribution, from which new images can then be drawn.
"""

from common import arguments, train
from digits import make_digits, show

import adjoint as torch
from adjoint import nn, optim

SIZE, LATENT, WIDTH = 16, 8, 256
BATCH = 64


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(SIZE * SIZE, WIDTH), nn.ELU(), nn.Linear(WIDTH, 2 * LATENT)
        )
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, WIDTH), nn.ELU(), nn.Linear(WIDTH, SIZE * SIZE), nn.Unflatten(1, (1, SIZE, SIZE))
        )

    def forward(self, images):
        """The scores of the pixels drawn again, and the mean and logarithm of the variance of the places."""
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        # Reparameterisation: the place is a differentiable function of the mean, the variance and plain noise.
        place = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(place), mean, log_variance


def losses_of(model, images):
    """Per image, in nats: the loss of drawing it again, and the divergence of its place from the normal one."""
    scores, mean, log_variance = model(images)
    drawn = nn.functional.binary_cross_entropy_with_logits(scores, images, reduction="sum") / len(images)
    divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum() / len(images)
    return drawn, divergence


def main():
    options = arguments(__doc__, steps=800)
    torch.manual_seed(options.seed)
    images, _ = make_digits(3000, SIZE, options.seed)
    learned, held_out = images[500:], images[:500]
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=2e-3)

    def step():
        drawn, divergence = losses_of(model, learned[torch.randint(len(learned), (BATCH,))])
        loss = drawn + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    train(step, options, model=model, optimizer=optimizer)
    with torch.no_grad():
        drawn, divergence = losses_of(model, held_out)
        average = learned.mean(0).expand_as(held_out)
        blind = nn.functional.binary_cross_entropy(average, held_out, reduction="sum") / len(held_out)
        print(
            f"images not trained on: {drawn + divergence:.1f} nats, of which {divergence:.1f} for their place; ", end=""
        )
        print(f"the average image alone would have {blind:.1f}")
        new = model.decoder(torch.randn(4, LATENT)).sigmoid()[:, 0]
    print("new ones:")
    for rows in zip(*(show(image).split("\n") for image in new), strict=True):
        print("  ".join(rows))


if __name__ == "__main__":
    main()
