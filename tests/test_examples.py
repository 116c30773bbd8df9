"""The examples run, train as with torch, stop cleanly, resume exactly, and draw what they are asked to."""

import importlib.util
import math
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import adjoint

from .processes import ENVIRONMENT, python, script

FOLDER = Path(__file__).resolve().parent.parent / "examples"
SHARED = ("common", "digits", "plot")
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)
STEPS = 3


def arguments(name, *options):
    return ["-W", "error", str(FOLDER / f"{name}.py"), *map(str, options)]


def run(folder, name, *options, code=0):
    """Runs an example in a folder; returns what it printed."""
    done = python(*arguments(name, *options), folder=folder, timeout=120, code=code)
    return done.stdout + done.stderr


def losses_of(folder, name):
    return adjoint.load(folder / f"{name}.pt")["losses"]


# The same programs with torch in adjoint's place, one after the other in a process: torch takes long to import. Its
# Jacobians are dense.
WITH_TORCH = f"""
import runpy, sys, torch, types
from scipy.sparse import csr_array
torch.set_num_threads(1)
torch.func.sparsity = lambda f, x: types.SimpleNamespace(coloring=types.SimpleNamespace(passes=x.numel()))
torch.func.sparse_jacobian = lambda f, x, pattern: csr_array(torch.func.jacrev(f)(x).numpy())
sys.modules["adjoint"] = torch
for name in sys.argv[1:]:
    sys.argv = [name, "--steps", "{STEPS}", "--checkpoint", name + ".pt"]
    runpy.run_path(sys.path[0] + "/" + name + ".py", run_name="__main__")
"""


@pytest.fixture(scope="module")
def torch_folder(tmp_path_factory):
    """A folder with the checkpoints of all examples, run with torch."""
    folder = tmp_path_factory.mktemp("torch")
    script(f"import sys; sys.path.insert(0, {str(FOLDER)!r})\n{WITH_TORCH}", *NAMES, folder=folder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_trains_as_with_torch(tmp_path, torch_folder, name):
    plot = tmp_path / f"curve.{'svg' if NAMES.index(name) % 2 else 'png'}"
    output = run(tmp_path, name, "--steps", STEPS, "--plot", plot, "--checkpoint", f"{name}.pt")
    assert f"{name}: {STEPS} steps, loss" in output
    check_picture(plot)
    assert losses_of(tmp_path, name) == pytest.approx(losses_of(torch_folder, name), rel=1e-4)


def check_picture(path):
    data = path.read_bytes()
    if path.suffix == ".svg":
        tags = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(data).iter()]
        assert tags.count("polyline") == 3  # axes, losses, their means
        assert tags.count("text") >= 4
        return
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    position, chunks = 8, {}
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        kind, body = data[position + 4 : position + 8], data[position + 8 : position + 8 + length]
        assert struct.unpack_from(">I", data, position + 8 + length) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        position += 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    pixels = zlib.decompress(chunks[b"IDAT"])
    assert len(pixels) == height * (1 + 3 * width)
    assert len(set(pixels)) > 3  # more than the white paper


@pytest.mark.parametrize("losses", [[1.0], [2.0, 2.0], [math.nan, math.inf], [3.0, math.nan, 1.0], [1e-9, 1e5, 0.1]])
def test_odd_curves_are_drawn(tmp_path, losses):
    spec = importlib.util.spec_from_file_location("plot", FOLDER / "plot.py")
    plot = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plot)
    for ending in (".svg", ".png"):
        plot.write_plot(tmp_path / f"odd{ending}", losses, "a <title>")
        check_picture(tmp_path / f"odd{ending}")


@pytest.mark.parametrize("name", ["gan", "lstm"])
def test_resumed_training_has_the_same_losses(tmp_path, name):
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
    run(tmp_path / "whole", name, "--steps", 7, "--checkpoint", f"{name}.pt")
    run(tmp_path / "parts", name, "--steps", 4, "--checkpoint", f"{name}.pt")
    run(tmp_path / "parts", name, "--steps", 7, "--checkpoint", f"{name}.pt", "--resume")
    assert losses_of(tmp_path / "parts", name) == losses_of(tmp_path / "whole", name)


def test_ctrl_c_saves_the_checkpoint(tmp_path):
    total = 5000
    command = [sys.executable, *arguments("pendulum", "--steps", total)]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith(f"step {total // 10}/{total}  loss ")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "checkpoint: pendulum.pt\nstopped; go on with --resume --checkpoint pendulum.pt\n" in output
    made = len(losses_of(tmp_path, "pendulum"))
    assert total // 10 <= made < total
    assert f"pendulum: {made} of {total} steps" in output
    run(tmp_path, "pendulum", "--steps", made + 2, "--resume", "--checkpoint", "pendulum.pt")
    assert len(losses_of(tmp_path, "pendulum")) == made + 2


def test_terminals_get_a_progress_bar(tmp_path):
    ours, its = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, *arguments("pendulum", "--steps", 30)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=its, env=environment)
    os.close(its)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = re.sub(r"\x1b\[[\d;?]*\w", "", shown.decode())
    assert re.search(r"━+ 30/30 loss [\d.e-]+  [\d.]+ steps/s", text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", 0], "--steps: expected at least 1; got 0"),
        (["--plot", "curve.gif"], "--plot: expected a file that ends in .svg or .png; got curve.gif"),
        (["--resume"], "--resume: there is no pendulum.pt; name the file with --checkpoint"),
    ],
)
def test_options_are_checked_before_training(tmp_path, options, message):
    assert message in run(tmp_path, "pendulum", *options, code=2)


def test_every_example_is_listed():
    listed = re.findall(r"`python examples/(\w+)\.py`", (FOLDER / "README.md").read_text())
    assert sorted(listed) == NAMES
