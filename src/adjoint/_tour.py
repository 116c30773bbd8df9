"""The tour behind `python -m adjoint`: short pieces of code, run as they are shown, with what they really print."""

import ast
import linecache
import os
import sys
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


def print_graph(tensor):
    """Prints the nodes behind a tensor as a tree: each node's name and the line of Python that made it."""
    seen = set()
    # Depth first with a stack of our own: graphs may be deeper than Python's.
    stack = [(tensor.grad_fn, "", "")]
    while stack:
        node, lead, branch = stack.pop()
        head = f"{lead}{branch}{type(node).__name__}"
        if node in seen:
            print(f"{head}  (shown above)")
            continue
        seen.add(node)
        print(f"{head:<34} {source_of(node)}".rstrip())
        below = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        children = [child for child, _ in node.next_functions if child is not None]
        for number, child in reversed(list(enumerate(children))):
            stack.append((child, below, "└─ " if number == len(children) - 1 else "├─ "))


def source_of(node):
    """The text of the line that made a node; for a leaf, the shape of what is accumulated."""
    if type(node).__name__ == "AccumulateGrad":
        return f"leaf of shape {tuple(node.variable.shape)}"
    file, _, place = node.source_line.rpartition(":")
    line = linecache.getline(file, int(place.split()[0])).strip()
    return f"line {place.split()[0]}: {line}"


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
print_graph(y)
""",
        "type(y.grad_fn).__name__ == 'MulBackward0'",
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
        "A network",
        "Two spirals, told apart by a network of two hidden layers: 1,500 steps of gradient descent with momentum.",
        """
from adjoint.nn.functional import cross_entropy, linear

_ = torch.manual_seed(7)
t = torch.linspace(0.15, 1, 150)
arm = torch.stack([t * torch.cos(9 * t), t * torch.sin(9 * t)], 1)
points = torch.cat([arm, -arm]) + 0.01 * torch.randn(300, 2)
labels = torch.cat([torch.zeros(150), torch.ones(150)]).long()

sizes = [2, 32, 32, 2]
parameters = []
for n, m in zip(sizes, sizes[1:]):
    parameters += [torch.randn(m, n) * (2 / n) ** 0.5, torch.zeros(m)]
for p in parameters:
    p.requires_grad_()
speeds = [torch.zeros_like(p) for p in parameters]

def network(x):
    w1, b1, w2, b2, w3, b3 = parameters
    x = torch.tanh(linear(x, w1, b1))
    x = torch.tanh(linear(x, w2, b2))
    return linear(x, w3, b3)

for step in progress(range(1500), "training"):
    loss = cross_entropy(network(points), labels)
    loss.backward()
    with torch.no_grad():
        for p, speed in zip(parameters, speeds):
            speed.mul_(0.9).add_(p.grad)
            p -= 0.05 * speed
            p.grad = None
    if step % 300 == 299:
        print(f"step {step + 1:4}: loss {loss.item():.4f}")

with torch.no_grad():
    accuracy = (network(points).argmax(1) == labels).float().mean().item()
    draw(lambda x: network(x).argmax(1))

print(f"accuracy {accuracy:.1%}")
""",
        "accuracy > 0.95",
    ),
]


def run_section(title, words, code, check, bold):
    """Shows and runs one section statement by statement, as an interactive session would."""
    code = code.strip("\n") + "\n"
    lines = code.splitlines(keepends=True)
    file = f"<tour: {title}>"
    linecache.cache[file] = (len(code), None, lines, file)  # for tracebacks and print_graph
    print(f"\n{bold(title)}\n{words}\n")
    names = {"torch": torch, "progress": progress, "print_graph": print_graph, "draw": draw}
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


def main():
    """Runs the tour; the exit status is 0 when all went well."""
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    bold = (lambda text: f"\033[1m{text}\033[0m") if color else lambda text: f"== {text} =="
    start = time.perf_counter()
    print(f"adjoint {torch.__version__}: import adjoint as torch")
    for title, words, code, check in SECTIONS:
        try:
            run_section(title, words, code, check, bold)
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
    print(f"\nThe tour took {time.perf_counter() - start:.1f} s.")
    return 0
