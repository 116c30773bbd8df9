"""The tour behind `python -m adjoint`: short pieces of code, run as they are shown, with what they really print."""

import argparse
import ast
import linecache
import os
import sys
import textwrap
import time
import traceback

import adjoint as torch

# ---- helpers that the sections may use


def progress(items, label="", width=40):
    """Passes items through and draws a bar on a terminal while they are used up; elsewhere it draws nothing."""
    items = list(items)
    stream = sys.stderr
    drawn = -1
    for done, item in enumerate(items):
        filled = width * done // len(items)
        if stream.isatty() and filled != drawn:
            drawn = filled
            stream.write(f"\r{label} [{'█' * filled}{'·' * (width - filled)}] {done}/{len(items)}")
            stream.flush()
        yield item
    if drawn >= 0:
        stream.write("\r\033[K")
        stream.flush()


def print_wrapped(text, width=100):
    """Prints a long text in lines of a bearable length."""
    for line in str(text).splitlines():
        print(textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False))


def draw(classify, rows=17, columns=51, reach=1.1):
    """Draws which class `classify` gives to the points of the plane between -reach and reach."""
    across = torch.linspace(-reach, reach, columns)
    down = torch.linspace(reach, -reach, rows)
    points = torch.stack([across.expand(rows, columns), down.unsqueeze(1).expand(rows, columns)], -1)
    labels = classify(points.reshape(-1, 2)).reshape(rows, columns).tolist()
    for line in labels:
        print("".join("·#"[label] for label in line))


# ---- the sections: a title, a word about it, the code, and what must be true afterwards

SECTIONS = [
    (
        "Gradients",
        "A tensor that requires grad remembers how results were made from it.",
        """
x = torch.tensor(2.0, requires_grad=True)
y = x**2 + 3 * x + 2
y
y.backward()
x.grad  # dy/dx = 2x + 3
""",
        "x.grad.item() == 7",
    ),
    (
        "Gradients add up",
        "Each backward adds to .grad; nothing is recorded under no_grad.",
        """
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(w * w).sum().backward()
w.grad  # 2w
w.sum().backward()
w.grad  # 2w + 1
with torch.no_grad():
    w -= 0.1 * w.grad
w
w.grad = None
""",
        "w.grad is None and abs(w[0].item() - 0.7) < 1e-6",
    ),
    (
        "The graph",
        "Every node has its name and knows the line of Python that made it.",
        """
x = torch.rand(4, 3)
w = torch.rand(3, 2, requires_grad=True)
b = torch.zeros(2, requires_grad=True)
h = torch.tanh(x @ w + b)
y = torch.sigmoid(h - b) * h
drawing = torch.inspect.graph(y, names={"w": w, "b": b})
print(drawing)
""",
        "drawing.label(0) == 'MulBackward0'",
    ),
    (
        "The derivative of a derivative",
        "With create_graph=True a gradient is itself recorded, and so on to any order.",
        """
x = torch.tensor([0.0, 0.5, 1.0], requires_grad=True)
y = torch.exp(2 * x)
first, = torch.autograd.grad(y.sum(), x, create_graph=True)
second, = torch.autograd.grad(first.sum(), x)
first / y, second / y
""",
        "bool(((second - 4 * y).abs() < 1e-4).all())",
    ),
    (
        "A mistake, explained",
        "exp needs its result for the gradient, and += overwrites it: the error names both lines.",
        """
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = torch.exp(x)
y += 1
try:
    y.sum().backward()
except RuntimeError as error:
    print_wrapped(error)

y = torch.exp(x) + 1
y.sum().backward()
x.grad
""",
        "bool((x.grad == torch.exp(x)).all())",
    ),
    (
        "Where did the gradient go?",
        "A gradient that is None, zero or nan raises no error; explain_grad says why it is so, and where.",
        """
w = torch.tensor([-1.0, -2.0], requires_grad=True)
c = torch.tensor([3.0, 4.0], requires_grad=True)
h = torch.relu(w)
loss = (h * c.detach()).sum()
why_zero = torch.inspect.explain_grad(loss, w)
print_wrapped(why_zero)
why_none = torch.inspect.explain_grad(loss, c)
print_wrapped(why_none)
""",
        "(why_zero.reason, why_none.reason) == ('zero', 'detached')",
    ),
    (
        "Your own operation",
        "A Function has a forward and a backward; gradcheck compares it with finite differences.",
        """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g

x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
y = Cube.apply(x)
y
torch.autograd.grad(y.sum(), x)
torch.autograd.gradcheck(Cube.apply, x)
""",
        "torch.autograd.gradgradcheck(Cube.apply, x)",
    ),
    (
        "A network",
        "Two spirals, told apart by a module of two hidden layers that an optimizer trains for 600 steps.",
        """
from adjoint import nn

_ = torch.manual_seed(7)
t = torch.linspace(0.15, 1, 150)
arm = torch.stack([t * torch.cos(9 * t), t * torch.sin(9 * t)], 1)
points = torch.cat([arm, -arm]) + 0.01 * torch.randn(300, 2)
labels = torch.cat([torch.zeros(150), torch.ones(150)]).long()

class Network(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
        )

    def forward(self, x):
        return self.layers(x)

network = Network()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for step in progress(range(600), "training"):
    loss = nn.functional.cross_entropy(network(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 120 == 119:
        print(f"step {step + 1:4}: loss {loss.item():.4f}")

with torch.no_grad():
    accuracy = (network(points).argmax(1) == labels).float().mean().item()
    draw(lambda x: network(x).argmax(1))

print(f"accuracy {accuracy:.1%}")
""",
        "accuracy > 0.95",
    ),
    (
        "Speed",
        "A hundred products in a chain, forward and backward: what one recorded operation costs on this machine.",
        """
import timeit

x = torch.ones(8, requires_grad=True)
w = torch.full((8,), 0.99, requires_grad=True)

def chain():
    y = x
    for _ in range(100):
        y = y * w
    y.sum().backward()

seconds = min(timeit.repeat(chain, number=10, repeat=20)) / 10 / 100
print(f"{seconds * 1e9:.0f} ns for each product, its gradients included")
""",
        "0 < seconds < 1",
    ),
]

NEXT = """
python -m adjoint.run train.py   your program that imports torch, as it is, on adjoint
help(torch.optim.Adam)           every function has an example; so it is with torch.inspect.explain_grad
docs/index.md                    start here: guides for people who know PyTorch, JAX or NumPy, tutorials, recipes
docs/errors.md                   each error of autograd with its cause and its cure
examples/                        programs that train: a GPT, neural ODEs, differential privacy and others
""".strip()


def run_section(title, words, code, check, bold):
    """Shows and runs one section statement by statement, as an interactive session would; returns its names."""
    code = code.strip("\n") + "\n"
    lines = code.splitlines(keepends=True)
    file = f"<tour: {title}>"
    linecache.cache[file] = (len(code), None, lines, file)  # for tracebacks and drawings
    print(f"\n{bold(title)}\n{words}\n")
    names = {"torch": torch, "progress": progress, "print_wrapped": print_wrapped, "draw": draw}
    shown = 0
    for statement in ast.parse(code).body:
        for line in lines[shown : statement.end_lineno]:
            first = line is lines[statement.lineno - 1]
            print(f"{'>>>' if first else '...' if line.strip() else ''} {line}".rstrip())
        shown = statement.end_lineno
        sys.stdout.flush()
        if isinstance(statement, ast.Expr):
            exec(compile(ast.Interactive([statement]), file, "single"), names)
        else:  # not "single", which would also show the expressions inside loops
            exec(compile(ast.Module([statement], []), file, "exec"), names)
    if not eval(check, names):
        raise AssertionError(f"the code ran, but this is not true of its results: {check}")
    return names


def main(arguments=()):
    """Runs the tour; the exit status is 0 when all went well."""
    parser = argparse.ArgumentParser(prog="python -m adjoint", description="A tour of adjoint in a few seconds.")
    parser.add_argument("--svg", metavar="FILE", help="also write the graph of the tour to FILE as a drawing")
    parser.add_argument("--version", action="store_true", help="say what is installed and what it runs on, and stop")
    options = parser.parse_args(arguments)
    if options.version:
        print(f"adjoint {torch.__version__}")
        torch.show_config()
        return 0
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    bold = (lambda text: f"\033[1m{text}\033[0m") if color else lambda text: f"== {text} =="
    start = time.perf_counter()
    print(f"adjoint {torch.__version__}: import adjoint as torch")
    for title, words, code, check in SECTIONS:
        try:
            names = run_section(title, words, code, check, bold)
            if options.svg and "drawing" in names:
                with open(options.svg, "w", encoding="utf-8") as file:
                    file.write(names["drawing"].svg())
                print(f"\nThe drawing is in {options.svg}.")
        except BrokenPipeError:  # whoever reads the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except Exception as error:
            sys.stdout.flush()
            traceback.print_exc()
            print(
                f"\nThe tour stopped at {title!r}: {type(error).__name__}: {error}\n"
                f"This is a bug in adjoint {torch.__version__} or in its build; please report it with the lines above.",
                file=sys.stderr,
            )
            return 1
    print(f"\n{bold('Where to go next')}\n{NEXT}")
    print(f"\nThe tour took {time.perf_counter() - start:.1f} s.")
    if not options.svg:
        print("With --svg FILE it writes the graph above to a file, as a drawing.")
    return 0
