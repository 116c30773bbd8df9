"""A random line of Python out of a row of the table: as a function, a method, in place or with out=."""

import re

import torch

from . import kinds_layers  # noqa: F401 - registers its kinds
from .draw import Draw
from .families import FAMILIES
from .kinds import KINDS, choice, nonsense

PLACES = {"F.": "nn.functional.", "W.": "signal.windows."}
OUTS = [
    "torch.empty(0)",
    "torch.empty(0, dtype=torch.float64)",
    "torch.zeros(2, 3)",
    "torch.empty(0, dtype=torch.int64)",
]
OUTS += ["torch.zeros(3, 2).t()", "torch.empty(0, dtype=torch.bool)", "torch.empty(0, dtype=torch.complex64)"]


class Parameter:
    """One argument of a row: its kind, its name if it has one, and how it may be given."""

    def __init__(self, text):
        self.optional = text.startswith("[") or "=" in text
        self.keyword = "=" in text  # by name only
        self.required_keyword = text.startswith("!")
        text = text.strip("![]")
        name, _, kind = text.rpartition("=" if self.keyword else ":")
        self.name = name or None
        options = re.fullmatch(r"\{(.*)\}", kind)
        self.kind = choice(options[1].split("|")) if options else KINDS[kind]


class Row:
    """One row of the table."""

    def __init__(self, text):
        self.name, *parameters = text.split()
        self.parameters = [Parameter(parameter) for parameter in parameters]
        self.path = self.name
        for short, long in PLACES.items():
            self.path = self.path.replace(short, long) if self.path.startswith(short) else self.path
        self.forms = [form for form in ("function", "method", "inplace", "out") if self.has(form)]

    def has(self, form):
        """Whether torch has the call in this form."""
        if not self.parameters and form != "function":
            return False
        if form == "method":
            return hasattr(torch.Tensor, self.path)
        if form == "inplace":
            return hasattr(torch.Tensor, self.path + "_")
        function = torch
        for part in self.path.split("."):
            function = getattr(function, part, None)
        if function is None or form == "function":
            return function is not None
        return not self.path.startswith(("nn.", "signal.")) and "out=" in (function.__doc__ or "")

    def arguments(self, draw):
        """Source texts: positional ones, and those by name."""
        positional, named, by_name = [], [], False
        odd = draw.integer(0, len(self.parameters)) if draw.chance(0.12) else -1
        for place, parameter in enumerate(self.parameters):
            if parameter.optional and not parameter.required_keyword and draw.chance(0.5):
                by_name = by_name or not parameter.keyword
                continue
            if by_name and not parameter.keyword and parameter.name is None:
                break
            value = nonsense(draw) if place == odd else parameter.kind(draw)
            if parameter.keyword or by_name or (parameter.name and draw.chance(0.4)):
                by_name = True
                named.append(f"{parameter.name}={value}" if parameter.name else value)
            else:
                positional.append(value)
        if odd == len(self.parameters) and draw.chance(0.3):
            given = {text.partition("=")[0] for text in named}
            extra = draw.pick(["bogus=1", "dim=0", "input=x0", "axis=0", "keepdims=True", "self=1"])
            named += [extra] if extra.partition("=")[0] not in given else []
        return positional, named

    def line(self, random):
        """One call with random arguments."""
        draw = Draw(random)
        form = draw.pick(self.forms)
        positional, named = self.arguments(draw)
        call = self.spelled(draw, form, positional, named)
        tensors = [f"x{place} = {text}; " for place, text in enumerate(draw.tensors)]
        return "".join(tensors) + f"r = {call}"

    def spelled(self, draw, form, positional, named):
        if form == "out":
            out = draw.named(draw.pick(OUTS) if draw.chance(0.7) else OUTS[0])
            if draw.chance(0.15):
                out = f"({out}, {draw.named(draw.pick(OUTS))})"
            named = [*named, f"out={out}"]
        if form in ("method", "inplace") and positional:
            target, *positional = positional
            path = f"({target}).{self.path}" if not target.isidentifier() else f"{target}.{self.path}"
            return f"{path}{'_' * (form == 'inplace')}({', '.join(positional + named)})"
        return f"torch.{self.path}({', '.join(positional + named)})"


class Template(Row):
    """A row that is a piece of code with kinds in it: `<x>[<subscript>]`."""

    def __init__(self, text):
        self.name = text
        self.pieces = re.split(r"<(\w+|\{[^>]*\})>", text)

    def line(self, random):
        draw = Draw(random)
        written = []
        odd = 2 * draw.integer(0, len(self.pieces) // 2) + 1 if draw.chance(0.1) else -1
        for place, piece in enumerate(self.pieces):
            kind = place % 2 and (choice(piece[1:-1].split("|")) if piece.startswith("{") else KINDS[piece])
            written.append((nonsense(draw) if place == odd else kind(draw)) if kind else piece)
        tensors = [f"x{place} = {text}; " for place, text in enumerate(draw.tensors)]
        code = "".join(written)
        return "".join(tensors) + (code if code.startswith("r = ") else f"r = {code}")


def rows(family):
    """The rows of a family, parsed."""
    found = []
    for text in FAMILIES[family].strip().splitlines():
        text = text.strip()
        if text:
            found.append(Template(text) if "<" in text else Row(text))
    return found


TABLE = {family: rows(family) for family in FAMILIES}


def line(random, family=None):
    """A random call of a family, or of any."""
    family = family or random.choice(list(TABLE))
    return random.choice(TABLE[family]).line(random)
