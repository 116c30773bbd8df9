"""What tables and drawings say about a box: its name, its module, what it gives, saves and gets."""

from typing import NamedTuple

from . import nodes as describe

LEAF, ROOT, PLAIN, LOOP, MODULE = "#d5e8f7", "#d9f0d3", "#f4f4f4", "#fdf1d0", "#ece4f6"


class Facts(NamedTuple):
    """The words about a box, each "" where there is nothing to say."""

    name: str
    module: str
    output: str
    saved: str
    value: str
    norm: str
    owned: str
    place: describe.Place
    color: str

    @property
    def lines(self):
        """The lines of its drawing."""
        value = f"value {self.value}" if self.value else ""
        norm = f"|gradient| {self.norm}" if self.norm else ""
        saved = self.saved if self.saved in ("", "freed") else f"saved {self.saved}"
        where = f"{self.output}  {self.place.short}".strip()
        lines = (self.name, self.module, where, self.owned, value, norm, saved)
        return [line for line in lines if line]


def facts_of(graph, box):
    """The words about a box of a graph's picture."""
    first = box.heads[0]
    node = graph.nodes[first]
    leaf = describe.is_leaf(node)
    times = f" x {box.times:,}" if box.times > 1 else ""
    if box.calls:
        name, module = f"{common_name([call.name for call in box.calls])}: {box.calls[0].kind}{times}", ""
    else:
        name = common_name([graph.label(number) for number in box.heads]) + times
        module = common_name(list(dict.fromkeys(map(graph.module, box.heads))))
    color = ROOT if any(map(graph.is_root, box.numbers)) and not leaf else LEAF if leaf else LOOP if times else PLAIN
    return Facts(
        name=name,
        module=module,
        output=describe.outputs_text(node),
        saved=graph.saved_by(box.numbers),
        value=graph.value(first) if box.times == 1 else "",
        norm=norms_text([graph.gradient_norm(number) for number in box.heads]),
        owned=_owned_text(graph, box),
        place=describe.NOWHERE if leaf else describe.place_of(node),
        color=MODULE if box.calls and color == PLAIN else color,
    )


def _owned_text(graph, box):
    """The parameters that stand in the box of their module: weight [8, 4], bias [8]"""
    texts, modules = {}, [f"leaf {call.name}." for call in box.calls]
    for number in box.owned:
        label = graph.label(number)
        label = next((label.removeprefix(name) for name in modules if label.startswith(name)), label[5:])
        _, shape = describe.outputs_of(graph.nodes[number])[0]
        norms = texts.setdefault(f"{label or 'leaf'} {list(shape)}", [])
        norms.append(graph.gradient_norm(number))
    texts = [text + (f" |gradient| {norms_text(norms)}" if norms_text(norms) else "") for text, norms in texts.items()]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def common_name(names):
    """One name for several: net.0.weight, net.1.weight and net.2.weight are net.0-2.weight.

    >>> from adjoint.inspect.facts import common_name
    >>> common_name(["net.2.weight", "net.1.weight", "net.0.weight"]), common_name(["a", "a"]), common_name("abcd")
    ('net.0-2.weight', 'a', 'a, b and 2 more')
    """
    names = list(dict.fromkeys(names))
    parts = [name.split(".") for name in names]
    if len({len(part) for part in parts}) == 1:
        columns = [list(dict.fromkeys(column)) for column in zip(*parts, strict=True)]
        if all(len(column) == 1 or all(word.isdigit() for word in column) for column in columns):
            return ".".join(_span(column) for column in columns)
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _span(words):
    """0-11 for the numbers from 0 to 11; 0,3 where some are missing."""
    if len(words) == 1:
        return words[0]
    numbers = sorted(map(int, words))
    together = numbers[-1] - numbers[0] + 1 == len(numbers)
    return f"{numbers[0]}-{numbers[-1]}" if together else ",".join(map(str, numbers))


def norms_text(norms):
    """The norm, or the range of several."""
    norms = [norm for norm in norms if norm is not None]
    if not norms:
        return ""
    if any(norm != norm for norm in norms):
        return "nan"
    low, high = f"{min(norms):.3g}", f"{max(norms):.3g}"
    return low if low == high else f"{low} to {high}"
