"""How Python spells an expression: operators, and the words of the op table's language, on tensors."""

import math

from .primitives import INFIX, PREFIX
from .renderer import Renderer


class Python(Renderer):
    """Names are what they are; `words` collects those that must be imported from the language."""

    def __init__(self):
        self.words = set()

    def constant(self, number):
        if isinstance(number, float) and not math.isfinite(number):
            return f'float("{number}")'
        negative = isinstance(number, float | int) and number < 0
        return f"({number!r})" if negative else repr(number)

    def name(self, name):
        return name

    def call(self, primitive, args):
        if primitive in INFIX:
            return f"{args[0]} {INFIX[primitive]} {args[1]}"
        if primitive in PREFIX:
            return f"{PREFIX[primitive]}{args[0]}"
        self.words.add(primitive)
        return f"{primitive}({', '.join(args)})"
