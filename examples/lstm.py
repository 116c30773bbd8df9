"""An LSTM learns how English words are spelled, and invents some that do not exist.

The words are those in the standard library's own text. They differ in length: a batch is padded, and the padding is
left out of the loss.
"""

import re

from common import arguments, train
from gpt import standard_library

import adjoint as torch
from adjoint import nn, optim

LETTERS = ".abcdefghijklmnopqrstuvwxyz"  # the dot begins and ends a word
LONGEST = 14
WIDTH, LAYERS = 128, 2
BATCH = 64
IGNORED = -100  # the label that cross_entropy leaves out


def words():
    """The words of the standard library's text, each once, as numbers (words, LONGEST + 2) padded with IGNORED."""
    found = sorted(set(re.findall(rf"\b[a-z]{{3,{LONGEST}}}\b", standard_library())))
    rows = [[LETTERS.index(letter) for letter in f".{word}."] for word in found]
    return found, torch.tensor([row + [IGNORED] * (LONGEST + 2 - len(row)) for row in rows])


class Speller(nn.Module):
    """Reads letters, and gives scores of every letter as the next one."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), 32)
        self.lstm = nn.LSTM(32, WIDTH, LAYERS, batch_first=True, dropout=0.1)
        self.head = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, letters, state=None):
        read, state = self.lstm(self.letters(letters), state)
        return self.head(read), state


def loss_of(model, rows):
    """The mean loss of a letter."""
    scores, _ = model(rows[:, :-1].clamp(min=0))
    return nn.functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=IGNORED)


def training(rows):
    """The model, its optimizer, and the function that makes one training step and returns the loss."""
    model = Speller()
    optimizer = optim.Adam(model.parameters(), lr=4e-3)

    def step():
        loss = loss_of(model, rows[torch.randint(len(rows), (BATCH,))])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return model, optimizer, step


@torch.no_grad()
def invent(model, count, temperature=0.8):
    """So many words, spelled letter by letter; the state carries what was read on to the next letter."""
    letters, state = torch.zeros(count, 1, dtype=torch.int64), None
    spelled = []
    for _ in range(LONGEST):
        scores, state = model(letters, state)
        letters = torch.multinomial((scores[:, -1] / temperature).softmax(-1), 1)
        spelled.append(letters)
    texts = ("".join(LETTERS[n] for n in row) for row in torch.cat(spelled, 1).tolist())
    return [text.split(".")[0] for text in texts]


def main():
    options = arguments(__doc__, steps=400)
    torch.manual_seed(options.seed)
    known, rows = words()
    rows = rows[torch.randperm(len(rows))]
    learned, held_out = rows[500:], rows[:500]
    model, optimizer, step = training(learned)
    train(step, options, model=model, optimizer=optimizer)
    model.eval()
    with torch.no_grad():
        bits = loss_of(model, held_out).item() / torch.log(torch.tensor(2.0)).item()
    print(f"{bits:.2f} bits per letter of words not trained on (4.75 for letters drawn blindly)")
    print("words it made up:", ", ".join(sorted(set(invent(model, 40)) - {*known, ""})))


if __name__ == "__main__":
    main()
