"""A small GPT learns to write Python, character by character, from the source of Python's own standard library.

Four layers of causal self-attention, as in the large ones. It ends by writing a few lines of its own.
"""

import sysconfig
from pathlib import Path

from common import arguments, train

import adjoint as torch
from adjoint import nn, optim

LAYERS, WIDTH, HEADS = 4, 128, 4
CONTEXT = 128  # characters that the model looks back on
BATCH = 8
WARM_UP = 40  # steps in which the learning rate rises, before it falls with the root of their number
MODULES = ("argparse", "calendar", "configparser", "datetime", "difflib", "doctest", "inspect", "mailbox", "optparse",
           "pdb", "pickle", "statistics", "subprocess", "tarfile", "typing", "zipfile")  # fmt: skip
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


def standard_library():
    """The source of some modules of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    files = [folder / f"{name}.py" for name in MODULES]
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())


def encode(text):
    """The text as a tensor of numbers; characters that are not in CHARACTERS are left out."""
    number = {character: n for n, character in enumerate(CHARACTERS)}
    return torch.tensor([number[character] for character in text if character in number])


def decode(numbers):
    return "".join(CHARACTERS[n] for n in numbers)


class Block(nn.Module):
    """Attention, then a network for each place by itself; both add to what flows through."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.join = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attend(self, x):
        batch, length, _ = x.shape
        # Every head gets its part of the width: (batch, length, 3, heads, part) -> 3 x (batch, heads, length, part).
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.join(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.characters = nn.Embedding(len(CHARACTERS), WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(CHARACTERS), bias=False)
        self.apply(self.initialize)

    @staticmethod
    def initialize(module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.05)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, numbers):
        """Scores of every character as the next one, at every place."""
        x = self.characters(numbers) + self.places(torch.arange(numbers.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def training(text):
    """The model, its optimizer and schedule, and the function that makes one training step and returns the loss."""
    model = GPT()
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.01)
    schedule = optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARM_UP, (WARM_UP / (step + 1)) ** 0.5)
    )
    window = torch.arange(CONTEXT + 1)

    def step():
        starts = torch.randint(len(text) - CONTEXT, (BATCH, 1))
        chunk = text[starts + window]
        scores = model(chunk[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), chunk[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss.item()

    return model, optimizer, schedule, step


@torch.no_grad()
def write(model, start, count, temperature=0.7):
    """The text `start` and what the model makes of it: so many characters, each drawn by its likelihood."""
    numbers = encode(start)[None]
    for _ in range(count):
        scores = model(numbers[:, -CONTEXT:])[:, -1]
        following = torch.multinomial((scores / temperature).softmax(-1), 1)
        numbers = torch.cat([numbers, following], dim=1)
    return decode(numbers[0].tolist())


def main():
    options = arguments(__doc__, steps=500)
    torch.manual_seed(options.seed)
    text = encode(standard_library())
    model, optimizer, schedule, step = training(text)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters:,} parameters, {len(text):,} characters of text; guessing blindly has loss 4.56")
    train(step, options, model=model, optimizer=optimizer, schedule=schedule)
    print(write(model, "def ", 240))


if __name__ == "__main__":
    main()
