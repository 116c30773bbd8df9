"""Instructions of one call, counted by valgrind: `python benchmarks/instructions.py [../before]`, trees built in place.

A count does not depend on what else the machine does, so that a change of one percent is seen. Each case runs with few
rounds and with many; the difference, over the rounds between, is one call. The interpreter's own part is in it.
"""

import argparse
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
WARM, FEW, MANY = 100, 200, 1200

# name -> what is set up, what is counted
CASES = {
    "mul, recorded": ("x = torch.ones(16, requires_grad=True); y = torch.ones(16)", "x * y"),
    "mul, in no_grad": ("torch.set_grad_enabled(False); x = torch.ones(16); y = torch.ones(16)", "x * y"),
    "mul by a number, recorded": ("x = torch.ones(16, requires_grad=True)", "x * 2.0"),
    "chain of 10, forward": (
        "x = torch.ones(16, requires_grad=True)",
        "y = x\n    for _ in range(10): y = (y * 0.5).sin()",
    ),
    "chain of 10, forward and backward": (
        "x = torch.ones(16, requires_grad=True)",
        "y = x\n    for _ in range(10): y = (y * 0.5).sin()\n    y.backward(x)",
    ),
    "add_, in place": ("x = torch.ones(16); y = torch.ones(16)", "x.add_(y)"),
    "mul_, in place and recorded": (
        "x = torch.ones(16, requires_grad=True); y = torch.ones(16)",
        "z = x.clone(); z.mul_(y)",
    ),
    "sum": ("x = torch.ones(16)", "x.sum()"),
    "sum, recorded": ("x = torch.ones(16, requires_grad=True)", "x.sum()"),
    "sum of a dimension": ("x = torch.ones(4, 4)", "x.sum(1)"),
    "layer_norm": (
        "x = torch.ones(4, 16, requires_grad=True); w = torch.ones(16); f = torch.nn.functional.layer_norm",
        "f(x, (16,), w, w)",
    ),
    "layer_norm, forward and backward": (
        "x = torch.ones(4, 16, requires_grad=True); w = torch.ones(16); f = torch.nn.functional.layer_norm",
        "f(x, (16,), w, w).backward(x)",
    ),
    "x[1]": ("x = torch.ones(16)", "x[1]"),
    "x[1] = 2.0": ("x = torch.ones(16)", "x[1] = 2.0"),
    "x[mask] = 2.0": ("x = torch.ones(16); mask = torch.tensor([True, False] * 8)", "x[mask] = 2.0"),
    "x[indices] = y": ("x = torch.ones(16); i = torch.tensor([1, 3]); y = torch.ones(2)", "x[i] = y"),
    "matmul": ("x = torch.ones(4, 4); y = torch.ones(4, 4)", "x @ y"),
    "zeros": ("", "torch.zeros(3)"),
    "randn": ("", "torch.randn(3)"),
    "Adam.step of 100": (
        "ps = [torch.ones(16, requires_grad=True) for _ in range(100)]\n"
        "for p in ps: p.grad = torch.ones(16)\n"
        "step = torch.optim.Adam(ps).step",
        "step()",
    ),
}


def program(cases):
    """Runs all cases; os.getppid() marks where a count begins and ends."""
    lines = ["import os", "import adjoint as torch", "torch.set_num_threads(1)"]
    for setup, body in cases:
        for rounds in (WARM, FEW, MANY):
            lines += ["torch.set_grad_enabled(True)", setup]
            lines += ["os.getppid()", f"for _ in range({rounds}):", f"    {body}", "os.getppid()"]
    return "\n".join(lines)


def counts(tree, cases):
    """Instructions of one call, for each case."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind", "--tool=callgrind", "--dump-before=getppid", f"--callgrind-out-file={folder}/counts",
            sys.executable, "-c", program(cases),
        ]  # fmt: skip
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{tree}: valgrind failed\n{done.stderr[-2000:]}")
        # A part ends at each mark: setting up and counting take turns.
        parts = sorted(Path(folder).glob("counts.*"), key=lambda path: int(path.suffix[1:]))[1::2]
        totals = [int(re.search(r"^totals: (\d+)", path.read_text(), re.MULTILINE)[1]) for path in parts]
    return [(many - few) / (MANY - FEW) for few, many in zip(totals[1::3], totals[2::3], strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, nargs="?", help="a tree to compare with")
    parser.add_argument("--only", action="append", metavar="PATTERN", help='cases by name, such as "mul*"')
    options = parser.parse_args()
    chosen = {
        name: case for name, case in CASES.items()
        if not options.only or any(fnmatch.fnmatch(name, pattern) for pattern in options.only)
    }  # fmt: skip
    now = counts(HERE, chosen.values())
    if not options.tree:
        print("| case | instructions |\n|---|---:|")
        for name, count in zip(chosen, now, strict=True):
            print(f"| {name} | {count:,.0f} |")
        return
    print("| case | before | now | now / before |\n|---|---:|---:|---:|")
    for name, old, new in zip(chosen, counts(options.tree.resolve(), chosen.values()), now, strict=True):
        print(f"| {name} | {old:,.0f} | {new:,.0f} | {new / old:.2f} |")


if __name__ == "__main__":
    main()
