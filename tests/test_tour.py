"""The tour, `python -m adjoint`: runs to its end, shows what it should, and says so when something breaks."""

import platform
import re
import sys
from xml.etree import ElementTree

import numpy
import pytest

import adjoint
from adjoint import _tour

from .processes import python


@pytest.fixture(scope="module")
def output():
    done = python("-W", "error", "-m", "adjoint", timeout=120)
    assert done.stderr == ""  # no progress bar where there is no terminal
    return done.stdout


def test_every_section_is_shown(output):
    for title, words, _, _ in _tour.SECTIONS:
        assert f"== {title} ==\n{words}\n" in output


def test_gradients(output):
    assert ">>> x.grad  # dy/dx = 2x + 3\ntensor(7.)\n" in output
    assert ">>> w.grad  # 2w\ntensor([2., 4., 6.])\n" in output
    assert ">>> w.grad  # 2w + 1\ntensor([3., 5., 7.])\n" in output
    assert "(tensor([2., 2., 2.], grad_fn=<DivBackward0>), tensor([4., 4., 4.], grad_fn=<DivBackward0>))" in output


def test_graph_names_nodes_and_lines(output):
    assert "graph: 8 nodes, 2 leaves, " in output
    place = r"<tour: The graph>:(\d)"
    assert re.search(rf"^0 +MulBackward0 .* {place} +y = torch\.sigmoid\(h - b\) \* h$", output, re.MULTILINE)
    assert re.search(rf"^\d +MmBackward0 .* {place} +h = torch\.tanh\(x @ w \+ b\)$", output, re.MULTILINE)
    assert re.search(r"^\d +leaf w +float32 \[3, 2\]$", output, re.MULTILINE)


def test_mistake_names_both_lines(output):
    said = " ".join(output.partition("== A mistake, explained ==")[2].partition("==")[0].split())
    assert "one of the variables needed for gradient computation has been modified by an inplace operation" in said
    assert "ExpBackward0 (made at <tour: A mistake, explained>:2 " in said
    assert "add_ (at <tour: A mistake, explained>:3 " in said
    assert ">>> x.grad tensor([1.0000, 2.7183])" in said


def test_lost_gradients_are_explained(output):
    said = " ".join(output.partition("== Where did the gradient go? ==")[2].partition("==")[0].split())
    assert "The gradient of w is zero: it ends in ReluBackward0;" in said
    assert "c.detach()" in said


def test_custom_function(output):
    assert "tensor([1., 8.], dtype=torch.float64, grad_fn=<CubeBackward>)" in output
    assert "(tensor([ 3., 12.], dtype=torch.float64),)" in output
    assert ">>> torch.autograd.gradcheck(Cube.apply, x)\nTrue\n" in output


def test_svg_is_written_when_asked_for(monkeypatch, capsys, tmp_path):
    graph = [section for section in _tour.SECTIONS if section[0] == "The graph"]
    monkeypatch.setattr(_tour, "SECTIONS", graph)
    assert _tour.main() == 0
    assert "--svg FILE" in capsys.readouterr().out
    file = tmp_path / "graph.svg"
    assert _tour.main(["--svg", str(file)]) == 0
    assert f"The drawing is in {file}." in capsys.readouterr().out
    svg = ElementTree.fromstring(file.read_text())
    assert svg.tag.endswith("svg")
    assert "MmBackward0" in file.read_text()


def test_network_learns(output):
    losses = [float(loss) for loss in re.findall(r"^step +\d+: loss (\S+)$", output, re.MULTILINE)]
    assert len(losses) == 5
    assert losses == sorted(losses, reverse=True)
    accuracy = float(re.search(r"^accuracy ([\d.]+)%$", output, re.MULTILINE).group(1))
    assert accuracy > 95
    assert re.search(r"^#+·+#+·+$", output, re.MULTILINE)  # the picture of the plane: one arm inside the other


@pytest.mark.parametrize(
    ("code", "check", "message"),
    [
        ("torch.ones(2) @ torch.ones(3)", "True", r"The tour stopped at 'Broken': RuntimeError: "),
        ("x = 1", "x == 2", r"AssertionError: the code ran, but this is not true of its results: x == 2"),
    ],
)
def test_failure_is_explained(monkeypatch, capsys, code, check, message):
    monkeypatch.setattr(_tour, "SECTIONS", [("Broken", "This fails.", code, check)])
    assert _tour.main() == 1
    explained = capsys.readouterr().err
    assert re.search(message, explained)
    assert "please report it" in explained


def test_progress_draws_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(_tour.progress(range(4), "training", width=4)) == [0, 1, 2, 3]
    drawn = capsys.readouterr().err
    assert "training [██··] 2/4" in drawn
    assert drawn.endswith("\r\033[K")


def test_version_says_what_runs():
    lines = python("-W", "error", "-m", "adjoint", "--version", timeout=60).stdout.splitlines()
    assert lines[0] == f"adjoint {adjoint.__version__}"
    said = dict(line.removeprefix("  - ").split(": ", 1) for line in lines[2:])
    assert said["Instruction set of the loops"] == adjoint._C._instruction_set()
    assert said["Python"] == platform.python_version()
    assert said["NumPy"] == numpy.__version__
    assert said["BLAS and LAPACK"].startswith("OpenBLAS 0.3")
    assert re.match(r"(GCC|.*[Cc]lang).*\d", said["Compiler"])
    assert int(said["Threads"]) >= 1


def test_show_config_prints_what_config_says(capsys):
    assert adjoint.show_config() is None
    assert capsys.readouterr().out == adjoint.__config__.show()


def test_speed_is_measured_and_the_way_on_is_shown(output):
    assert re.search(r"^\d+ ns for each product, its gradients included$", output, re.MULTILINE)
    assert f"== Where to go next ==\n{_tour.NEXT}\n" in output
