"""The pictures of the README: torch's time over Adjoint's as bars, and the graph of a small expression.

`python benchmarks/chart.py` writes docs/images/speed.svg and graph.svg. The figures are those that `benchmarks/run.py`
measured and that stand in the table of docs/performance.md; nothing is measured here.
"""

import re
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
TABLE = re.compile(r"<!-- benchmark.*?-->\n(.*?)<!-- end of benchmark -->", re.DOTALL)
# Rows of the table, and how the picture names them: small tensors, then large ones, where arithmetic is what is left.
SHOWN = {
    "`x * y`, 8 elements, recorded": "x * y of 8 elements, recorded",
    "chain of 100 `y * w`, forward + backward, per op": "100 products in a chain, forward + backward",
    "pendulum of 0-d tensors and numbers, 20 steps, fwd + bwd": "a pendulum of 20 steps, forward + backward",
    "20 layers of `tanh(h @ w)`, 8x8, fwd + bwd, per layer": "20 layers of tanh(h @ w), 8 x 8",
    "training step of a 2-16-16-2 network, 32 points": "a training step of a 2-16-16-2 network",
    "custom Function `Square`, 4 elements, fwd + bwd": "a custom Function, forward + backward",
    "10 M `x * y`, fwd + bwd": "x * y of 10 million elements",
    "1024x1024 `a @ b`, fwd + bwd": "a @ b of 1024 x 1024",
    "softmax of 2048x1000, fwd + bwd": "softmax of 2048 x 1000",
}
WIDTH, LEFT, RIGHT, ROW, TOP = 800, 320, 120, 26, 52
COLORS = {"faster": "#3f51b5", "slower": "#c0504d"}


def rows(text):
    """(title, time of Adjoint, time of torch, ratio) of the rows of the table that are shown."""
    table = TABLE.search(text)[1]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:2] == "| "]
    found = {title: (ours, theirs, float(ratio.rstrip("x"))) for title, ours, theirs, ratio, *_ in lines[1:]}
    for title, words in SHOWN.items():
        ours, theirs, ratio = found[title]
        yield words, ours.partition(" (")[0], theirs.partition(" (")[0], ratio


def svg(text):
    shown = list(rows(text))
    machine = re.search(r"^(.*?); Linux", TABLE.search(text)[1], re.MULTILINE)[1]
    versions = " and ".join(re.findall(r"^((?:adjoint|torch) [\w.]+)", TABLE.search(text)[1], re.MULTILINE))
    scale = (WIDTH - LEFT - RIGHT) / max(ratio for *_, ratio in shown)
    height = TOP + ROW * len(shown) + 34
    one = LEFT + scale
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold">PyTorch\'s time over Adjoint\'s</text>',
    ]
    for number, (words, ours, theirs, ratio) in enumerate(shown):
        y = TOP + ROW * number
        color = COLORS["faster" if ratio >= 1 else "slower"]
        end = LEFT + scale * ratio
        out += [
            f"<g><title>{escape(words)}: {ours}, in PyTorch {theirs}</title>",
            f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(words)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="18" rx="2" fill="{color}"/>',
            f'<text x="{end + 6:.1f}" y="{y + 14}"><tspan font-weight="bold">{ratio:g}x</tspan>'
            f'<tspan dx="8" font-size="10" fill="#777">{ours}</tspan></text></g>',
        ]
    bottom = TOP + ROW * len(shown)
    out += [
        f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 10}" y2="{bottom}" stroke="#333" stroke-dasharray="3 3"/>',
        f'<text x="{one:.1f}" y="{TOP - 14}" font-size="10" text-anchor="middle" fill="#333">equal</text>',
        f'<text x="{LEFT}" y="{bottom + 18}" font-size="10" fill="#777">{escape(f"{versions}; {machine}")}. '
        "Best of ten; Adjoint's time in gray.</text>",
        "</svg>",
    ]
    return "\n".join(out) + "\n"


def graph():
    """The expression at the top of the README, drawn."""
    import adjoint as torch

    source = "x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\nloss = (x.sin() * x).sum()\n"
    names = {"torch": torch}
    exec(compile(source, "example.py", "exec"), names)
    return torch.inspect.graph(names["loss"], names={"x": names["x"]}).svg()


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "speed.svg").write_text(svg(PAGE.read_text()))
    (IMAGES / "graph.svg").write_text(graph())
