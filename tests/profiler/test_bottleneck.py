"""python -m adjoint.utils.bottleneck: runs a script for torch under both profilers, and sums up what took long."""

from tests.processes import python

PROGRAM = """
import sys
import torch

x = torch.ones(10, 10, requires_grad=True)
(x @ x).relu().sum().backward()
print("given", sys.argv[1:], __name__)
{end}
"""


def test_a_script_under_both_profilers(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PROGRAM.format(end="sys.exit(0)"))
    done = python("-m", "adjoint.utils.bottleneck", path, "--size", 3)
    assert done.stdout.count("given ['--size', '3'] __main__") == 2
    for part in ("Environment Summary", "cProfile output", "autograd profiler output (CPU mode)", "aten::matmul"):
        assert part in done.stdout
    assert "top 15 events sorted by cpu_time_total" in done.stdout


def test_a_script_that_fails_or_is_not_there(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PROGRAM.format(end="sys.exit(3)"))
    assert "cProfile output" not in python("-m", "adjoint.utils.bottleneck", path, code=3).stdout
    assert "there is no file" in python("-m", "adjoint.utils.bottleneck", tmp_path / "none.py", code=2).stderr
    assert "usage:" in python("-m", "adjoint.utils.bottleneck", code=2).stderr
