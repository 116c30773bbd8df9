"""The mistakes that happen most, made in both libraries: what each says, and whether ours says more.

    python -m tests.mistakes           # both messages of each
    python -m tests.mistakes --write   # docs/mistakes.md

The programs are those of docs/errors.md, by title. Beside each stands what our message tells and torch's does not: that
is what makes it better, and a test looks for the words. Where nothing stands, they say the same.
"""

import sys
import textwrap
from pathlib import Path

import torch

import adjoint

from .test_error_page import ENTRIES, outcome, words

PAGE = Path(__file__).resolve().parent.parent / "docs" / "mistakes.md"
SAME = ()
# fmt: off
MISTAKES = {
    # Autograd
    "Backward from something that is not a scalar": ("got shape [2]", "sum() or mean()"),
    "Nothing requires grad": ("requires_grad=True", "no_grad()"),
    "Backward a second time": ("ExpBackward0", "program.py:2"),
    "A leaf was changed": ("sub_", "no_grad()"),
    "A saved value was changed": ("program.py:2", "last changed by add_", "program.py:3"),
    "Integers that require grad": ("got int64", "1. for 1"),
    "The gradient with respect to something unused": SAME,
    "A copy of a result": ("detach() it first",),
    "numpy() of what requires grad": ("NumPy records no gradients",),
    "A tensor as a condition": ("any() or all()", "where()"),
    "An optimizer for a computed tensor": ("the result of an operation", "detach().requires_grad_()"),
    "Training under no_grad": ("no_grad()",),
    "The gradient of a result": SAME,
    "A gradient that is not there": SAME,
    "A loss that is a number already": SAME,
    # Shapes
    "Matrices that cannot be multiplied": ("transpose the second", "mat1 @ mat2.T"),
    "Batches of matrices that cannot be multiplied": ("Transpose the second",),
    "A matrix times a vector of another length": ("transpose the matrix",),
    "mm of a vector": ("of shape [3]", "matmul()"),
    "dot of matrices": ("matmul()",),
    "Shapes that do not broadcast": ("[2, 3] and [2]",),
    "Joining tensors of other sizes": ("[2, 3]", "[2, 4]", "dim=1 would join them"),
    "Joining tensors with other numbers of dimensions": ("[2, 3]", "unsqueeze()"),
    "Tensors to join, without a list": ("cat([a, b])",),
    "Stacking tensors of other sizes": ("pad or cut",),
    "A view of a transposed tensor": ("sizes [3, 2] and strides [1, 3]",),
    "A shape with another number of elements": ("it has 8 elements",),
    "A shape that cannot be inferred": ("120 does not divide 3200",),
    "A dimension that is not there": ("counted from 0",),
    "A permutation that leaves dimensions out": SAME,
    "Expanding what is not of size 1": ("repeat()",),
    "Pieces that do not add up": ("sum to 9",),
    "A size that is a float": ("// where it was divided",),
    "A size that is a string": ("int()",),
    "A wrong keyword of a function": ("did you mean 'dim'?", "softmax(input, dim=None"),
    "A wrong keyword of a method": ("did you mean 'dim'?",),
    # Types, devices and NumPy
    "Floats of two types in a product": (".float()", ".double()"),
    "The mean of whole numbers": (".float()",),
    "softmax of whole numbers": (".float()",),
    "Dividing whole numbers in place": ("out-of-place",),
    "A type in quotes": ("write torch.float32",),
    "NumPy's type for torch's": ("write torch.float32",),
    "A type in quotes, for to()": ("types torch.float64",),
    "A device that does not exist": ("use device='cpu'",),
    "A device that is not there": ("use device='cpu'",),
    "A list where a tensor belongs": ("torch.tensor()",),
    "An array where a tensor belongs": ("torch.from_numpy()", "in Linear"),
    "from_numpy of a list": ("tensor()",),
    "Rows of different lengths": ("pad them",),
    "A list of tensors as data": ("stack()",),
    "item() of several elements": ("sum() or mean()",),
    "float() of several elements": ("got shape [2]", "sum() or mean()"),
    "Iterating over a number": ("unsqueeze(0)",),
    # Indices and masks
    "An index that is out of bounds": ("from 0 to 2",),
    "Too many indices": SAME,
    "Floats as indices": ("got float32", ".long()"),
    "A mask of another shape": SAME,
    "A mask of whole numbers": (".bool()",),
    "A condition of whole numbers": (".bool()",),
    "gather by floats": ("got float32", ".long()"),
    "one_hot of floats": ("torch.float32", ".long()"),
    "one_hot of too few classes": ("got 3 with num_classes=3",),
    # Losses
    "Classes as a column": ("got [4, 1]", "squeeze(1)"),
    "One-hot rows of whole numbers": ("argmax(1)", "probabilities: convert one-hot rows"),
    "Classes as floats": (".long()",),
    "Classes of 32 bits": (".long()",),
    "A class that there is no score of": ("3 classes, 0 to 2", "element 1"),
    "More scores than classes": ("[4, 3]",),
    "Scores with the classes last": ("classes in dimension 1", "movedim(-1, 1)"),
    "Probabilities outside of [0, 1]": ("one is 2.5", "sigmoid()", "binary_cross_entropy_with_logits"),
    "Labels outside of [0, 1]": ("one is -1",),
    "Labels as whole numbers": (".to(torch.float32)",),
    "Probabilities as a column, labels as a row": ("squeeze(1) the input?",),
    "A loss that broadcasts by accident": ("[4, 4]", "squeeze(1) the input?"),
    "A loss of whole numbers": (".float()",),
    "A reduction that does not exist": ("'none', 'mean' and 'sum'",),
    "softmax without a dimension": ("dim=1 of [2, 3]",),
    # Layers
    "An input with other features than the layer": ("takes 784 features", "in Linear '1'"),
    "An input that is transposed": ("transpose the input?", "Linear (in_features=3"),
    "An input of 64 bits": (".float()", "NumPy", "in Linear '0'"),
    "Bytes of an image as input": (".float()", "in Conv2d"),
    "Images with the channels last": ("permute(0, 3, 1, 2)", "in Conv2d"),
    "Images without channels": ("unsqueeze(1)", "in Conv2d"),
    "One image without channels": ("unsqueeze(0)", "[batch, channels, height, width]"),
    "An image that is smaller than the kernel": ("padding=", "in Conv2d"),
    "Channels that groups do not divide": ("3 and groups=2",),
    "Batch norm of one sample": ("drop_last=True", "eval()", "in BatchNorm1d"),
    "Batch norm of other channels": ("made for 4", "in BatchNorm2d"),
    "Batch norm of other dimensions": ("[batch, channels, height, width]", "[2, 4]"),
    "Layer norm of other features": ("make the layer for [4]", "in LayerNorm"),
    "Dropout in per cent": ("50% are 0.5",),
    "A word that an embedding does not have": ("index 10", "[0, 10)", "in Embedding"),
    "An embedding of floats": (".long()", "in Embedding"),
    "A sequence with the batch in another place": ("[batch, sequence, input_size=4]", "in LSTM"),
    "A hidden state without layers": ("[layers * directions, batch, hidden_size]",),
    "One hidden state where an LSTM has two": ("(h_0, c_0)",),
    "A hidden state of other sizes": ("[layers * directions, batch, hidden_size]",),
    "What an LSTM returns, in a Sequential": ("it holds 2 values", "in Linear '1'"),
    "Heads that do not divide the embedding": ("10 / 4 leaves 2 over",),
    "Attention to another embedding": ("[5, 2, 6]", "in MultiheadAttention"),
    "A mask of whole numbers for attention": ("torch.int64", ".bool()", "in MultiheadAttention"),
    "A wrong keyword of a layer": ("did you mean 'bias'?", "Linear(in_features, out_features"),
    "Too many arguments for a layer": ("forward(input)",),
    # Modules
    "super().__init__() is missing": ("super().__init__()",),
    "super().__init__() is missing, and there is nothing to register": ("super().__init__()",),
    "forward is missing": ("'foward'",),
    "Layers in a plain list": ("plain list 'layers'", "torch.nn.ModuleList"),
    "A list of layers is called": ("use Sequential",),
    "A list for Sequential": ("unpack the list with *",),
    "A class where a module belongs": ("ReLU()",),
    "A tensor where a parameter belongs": ("wrap it in torch.nn.Parameter()",),
    "Names of another model": ("has the prefix", "removeprefix"),
    "Names that were changed": ("Renamed?", '"encoders.weight" for "encoder.weight"'),
    "A path where a state_dict belongs": ("torch.load(path)",),
    # Training
    "Parameters that were used up": ("used up", "list(model.parameters())"),
    "A tensor as list of parameters": ("Put it into a list",),
    "A module as list of parameters": ("linear.parameters()",),
    "parameters, without a call": ("call it",),
    "A parameter in two groups": ("parameter 1 of group 0",),
    "A group without params": ("the keys ['param']",),
    "A negative learning rate": ("0 or more",),
    "A learning rate in quotes": ("lr is '0.1'", "float()"),
    "A learning rate of several elements": ("shape [2]",),
    "A wrong keyword of an optimizer": ("did you mean 'lr'?",),
    "A schedule for a module": ("takes the optimizer first",),
    "A schedule that steps before its optimizer": SAME,
    "Gradients that are never set to zero": ("accumulate over steps", "zero_grad()"),
    # Data
    "Samples of different sizes": ("dataset[0] and dataset[1]", "collate_fn"),
    "Samples that are None": ("__getitem__",),
    "A dataset without a length": ("__len__",),
    "Inputs and labels of different lengths": ("[3, 4]",),
    "A split that leaves samples over": ("sum to 9", "10 samples"),
    "A wrong keyword of a DataLoader": ("did you mean 'batch_size'?",),
    "A file that is not there": SAME,
}
# fmt: on


def messages(title):
    """(what torch says, what Adjoint says) of a mistake."""
    entry = ENTRIES[title].groupdict()
    ours = outcome(entry, adjoint)
    # The switch is ours: in torch its block runs as it is.
    entry["program"] = entry["program"].replace("with torch.inspect.watch_training():", "if True:")
    return words(outcome(entry, torch) or "nothing"), words(ours or "nothing")


def table():
    """docs/mistakes.md."""
    better = sum(map(bool, MISTAKES.values()))
    same = len(MISTAKES) - better
    lines = [
        "# The mistakes that happen most",
        "",
        f"{len(MISTAKES)} mistakes, made in PyTorch and in Adjoint. The messages begin with the same words, or nearly.",
        f"{better} of ours say more of what came, what was expected or what to do; {same} say the same, and none says",
        "less. The programs, and programs that work, are in [errors.md](errors.md) under the same titles.",
        "",
        "This page is written by `python -m tests.mistakes --write`, and tests hold it to what both libraries say.",
        "What makes a message better is in the last column: words that it has and PyTorch's has not.",
        "",
        "| | mistake | verdict | ours says besides |",
        "|---|---|---|---|",
    ]
    for number, (title, tells) in enumerate(MISTAKES.items(), 1):
        more = ", ".join(f"`{text}`" for text in tells).replace("|", "\\|")
        lines.append(f"| {number} | [{title}](#{number}) | {'better' if tells else 'same'} | {more} |")
    lines.append("")
    for number, title in enumerate(MISTAKES, 1):
        theirs, ours = messages(title)
        lines += [f'<a id="{number}"></a>', "", f"**{number}. {title}**", ""]
        lines += ["```text", *_wrapped("PyTorch", theirs), *_wrapped("Adjoint", ours), "```", ""]
    return "\n".join(lines)


def _wrapped(library, message):
    return textwrap.wrap(message, 118, initial_indent=f"{library}: ", subsequent_indent="    ", break_long_words=False)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(table())
    else:
        for each in MISTAKES:
            print(f"{each}\n    torch:   {messages(each)[0]}\n    adjoint: {messages(each)[1]}")
