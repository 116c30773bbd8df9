"""The documents are true: their Python runs, their declarations build, their paths exist; so do docstring examples."""

import importlib
import json
import pkgutil
import re
import shutil
import types
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.codegen import files, loops, reading
from adjoint.codegen.kernels import kernels_of

from . import add_an_op, compiled
from .documents import ROOT, blocks, run_examples
from .processes import python

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


# ---- documents


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_blocks_run(path):
    names = {"__name__": "__main__"}  # a document's blocks follow one another
    for number, text in enumerate(blocks(path, "python")):
        if ">>>" in text:
            run_examples(text, f"{path.name}[{number}]")
        else:
            exec(compile(text, f"{path.name}[{number}]", "exec"), names)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_paths_exist(path):
    text = path.read_text()
    spelled = re.findall(r"`((?:csrc|src|tools|tests|docs|benchmarks|examples)/[\w./-]*)`", text)
    linked = [link for link in re.findall(r"\]\(([^)#\s]+)\)", text) if "://" not in link]
    added = {name for _, name, _ in add_an_op.files()}  # what docs/add_an_op.md has its reader create
    missing = [name for name in spelled if name not in added and not (ROOT / name).exists()]
    missing += [link for link in linked if not (path.parent / link).exists()]
    assert not missing


def test_build_options_exist():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    named = re.findall(r"-D(ADJOINT_\w+)", "".join(path.read_text() for path in DOCUMENTS))
    assert named
    assert [name for name in named if f"option({name} " not in cmake] == []


def test_benchmarks_run(tmp_path):
    """The small cases once, in both libraries: that they run and are reported, not how fast they are."""
    names = ["mul_small", "chain_100", "scalars", "layers_20", "mlp_step", "square_function", "slices_1000"]
    only = [option for name in names for option in ("--only", name)]
    page = Path(shutil.copy(ROOT / "docs" / "performance.md", tmp_path))
    before = table_rows(page)
    options = ["--repetitions", "1", "--markdown", "--json", str(tmp_path / "figures.json"), "--page", str(page)]
    done = python(ROOT / "benchmarks" / "run.py", *only, *options)
    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert [row["name"] for row in rows] == names
    assert all(row["ratio"] > 0 for row in rows)
    assert sum(line.startswith("| ") for line in done.stdout.splitlines()) == len(rows) + 1
    # The page has the new ratios; all else in its table is as it was.
    ratios = {row["title"]: row["ratio"] for row in rows}
    after = table_rows(page)
    assert [row[0] for row in after] == [row[0] for row in before]
    for (title, old, now, aim), previous in zip(after, before, strict=True):
        assert [title, old, aim] == [previous[0], previous[1], previous[3]]
        assert abs(float(now.strip("x")) - ratios[title]) < 0.5 if title in ratios else now == previous[2]


def test_training_benchmark_runs():
    done = python(ROOT / "benchmarks" / "training.py", "--only", "mlp", "--repetitions", 1, timeout=120)
    assert re.search(
        r"^\| MLP [^|]*\| [\d.]+ [mµ]s \| [\d.]+ [mµ]s \| [\d.]+x \| \d+.* MB \| \d+.* MB \|$", done.stdout, re.M
    )


def table_rows(path):
    """The rows of the table of ratios, without its head."""
    text = path.read_text().split("<!-- ratios -->")[1].split("<!-- end of ratios -->")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


# ---- docstrings


def public_objects():
    """Every public function, class and method of the package that has examples, by its shortest name."""
    modules = [adjoint]
    for found in pkgutil.walk_packages(adjoint.__path__, "adjoint."):
        needs_more = found.name.startswith("adjoint.utils.tensorboard")  # a package of that name, to be imported
        if not any(part.startswith("_") for part in found.name.split(".")) and not needs_more:
            modules.append(importlib.import_module(found.name))
    modules += [importlib.import_module(f"adjoint.{path}") for path in adjoint._LAZY_NAMES]
    modules.sort(key=lambda module: module.__name__.count("."))  # before those that only import from them
    objects, seen = {}, set()

    def add(name, value):
        text = getattr(value, "__doc__", None)
        if isinstance(text, str) and ">>>" in text and id(value) not in seen:
            seen.add(id(value))
            objects[name] = text

    for module in modules:
        add(module.__name__, module)
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or getattr(value, "__module__", "adjoint") is None:
                continue
            if isinstance(value, types.ModuleType) and not value.__name__.startswith("adjoint"):
                continue
            add(f"{module.__name__}.{name}", value)
            if isinstance(value, type) and value.__module__.split(".")[0] in ("adjoint", "torch"):
                for attribute, member in sorted(vars(value).items()):
                    add(f"{module.__name__}.{name}.{attribute}", member)
    return objects


OBJECTS = public_objects()


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring_examples(name):
    run_examples(OBJECTS[name], name)


def test_docstrings_were_found():
    assert {"adjoint", "adjoint.autograd.grad", "adjoint.nn.Parameter", "adjoint.Tensor.backward"} <= set(OBJECTS)


# ---- docs/add_an_op.md. `python -m tests.add_an_op` follows it in full; here is what takes no build: that its lines
# fit the files that they change, and the loops of its elementwise ops, generated from a copy of the table and compiled.


def test_what_the_page_changes_is_there(tmp_path):
    for part in {Path(name).parent for _, name, _ in add_an_op.files()}:
        shutil.copytree(ROOT / part, tmp_path / part, dirs_exist_ok=True)
    add_an_op.follow(tmp_path)
    changed = {name for language, name, _ in add_an_op.files() if language == "diff"}
    assert {"csrc/kernels/reduce.h", "csrc/cpu/backend.cpp", "csrc/ops/reduce.cpp"} <= changed


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A folder with the compiled loops and derived rules of the ops that the document declares, and their kernels."""
    if compiled.compiler() is None:
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("added")
    package = folder / "adjoint"
    shutil.copytree(
        ROOT / "src" / "adjoint" / "ops", package / "ops", ignore=shutil.ignore_patterns("__pycache__", "derived.py")
    )
    names = []
    for _, name, text in add_an_op.files():
        if name.startswith("src/"):
            (folder / name.removeprefix("src/")).write_text(text)
            names += re.findall(r'elementwise\(\s*"(\w+)\(', text)
    assert names == ["squareplus", "logcosh"]
    table = reading.read_table(package)
    texts = files.generate(table, [])
    kernels = [kernel for name in names for kernel in kernels_of(table, table.ops[name])]
    for kernel in kernels:
        assert f" {kernel.function}(" in texts[f"kernels_real_{loops.shard_of(kernel)}.cpp"]
    (folder / "derived.py").write_text(texts["derived.py"])
    compiled.compile_loops(loops.loop_file("real_0", kernels, loops.REAL), folder)
    return folder, kernels


def test_added_rules_are_derivatives(added):
    """Each compiled rule, against central differences of the compiled forward."""
    folder, kernels = added
    library = compiled.load_loops(folder)
    x = np.linspace(-2.5, 2.5, 40)  # an even number of points: none at the kink of abs
    rules = [kernel for kernel in kernels if kernel.argument]
    for kernel in rules:
        (operand,) = kernel.item.operands
        params = [kernel.item.defaults[name] for name in kernel.item.params]
        ahead, behind = (compiled.call_loop(library, kernel.item.name, [x + step], params) for step in (1e-5, -1e-5))
        values = {"g": np.full_like(x, 3.0), operand: x}
        got = compiled.call_loop(library, kernel.name, [values[name] for name in kernel.inputs], params)
        np.testing.assert_allclose(got, 3 * (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-8)
    assert len(rules) == 2


def test_added_values(added):
    library = compiled.load_loops(added[0])
    x = np.linspace(-40, 40, 101)
    squareplus = compiled.call_loop(library, "squareplus", [x], [4.0])
    np.testing.assert_allclose(squareplus, (x + np.sqrt(x * x + 4)) / 2, rtol=1e-14)
    expected = np.logaddexp(x, -x) - np.log(2)
    np.testing.assert_allclose(compiled.call_loop(library, "logcosh", [x]), expected, rtol=1e-13, atol=1e-15)
