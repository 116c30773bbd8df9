"""The site, as far as it can be tested without building it: what `mkdocs build --strict` checks is left to that."""

import importlib.util
import re
import sys
import tomllib

import pytest

from .documents import ROOT

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))


def load(path):
    """A file of Python that is no part of a package, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference():
    return load(ROOT / "tools" / "site" / "reference.py").pages()


def test_picture_shows_the_table():
    """After new figures in docs/performance.md: `python benchmarks/chart.py`."""
    chart = load(ROOT / "benchmarks" / "chart.py")
    assert (chart.IMAGES / "speed.svg").read_text() == chart.svg(chart.PAGE.read_text())


def test_graph_of_the_readme_can_be_drawn():
    assert "SinBackward0" in load(ROOT / "benchmarks" / "chart.py").graph()


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_are_on_the_menu_and_tell_a_story(path):
    assert f"- tutorials/{path.stem}.md" in (ROOT / "mkdocs.yml").read_text()
    assert f"({path.name})" in (ROOT / "docs" / "tutorials" / "index.md").read_text()
    source = path.read_text()
    assert source.startswith("# %% [markdown]\n# # ")
    assert source.count("plt.show()") >= 1  # each shows something that it drew
    compile(source, path.name, "exec")


def test_every_document_is_on_the_menu():
    listed = re.findall(r"^ +- (?:[\w ]+: )?([\w/]+\.md)", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    here = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert here <= {*listed}


def test_reference_has_every_module(reference):
    table, pages = reference
    for name, module in (("Linear", "nn"), ("relu", "nn_functional"), ("Adam", "optim"), ("hvp", "func")):
        assert f"{{ #adjoint.{module.replace('_', '.')}.{name} .entry }}" in pages[f"reference/{module}.md"]
    assert "```python\nadjoint.exp(input" in pages["reference/functions_exponential.md"]
    assert "{ #adjoint.Tensor.backward .entry }" in pages["reference/tensor.md"]
    assert all(f"]({path})" in table for path in pages)
    everything = "".join(pages.values())
    assert all(f"{{ #adjoint.{name} .entry }}" in everything for name in ("abs", "sum", "max", "all", "pow", "round"))


def test_examples_are_fenced(reference):
    """No example runs into the text around it."""
    for path, text in reference[1].items():
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert ">>>" not in outside, path


def test_versions_agree():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f"{{{version}}}" in (ROOT / "docs" / "citation.md").read_text()
