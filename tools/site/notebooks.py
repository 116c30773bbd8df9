"""Tutorials: Python files in cells, run as notebooks; each becomes a page with what it printed and drew, and an .ipynb.

A source in docs/tutorials is an ordinary program in the "percent" format that editors know: a line `# %%` begins a cell
of code, `# %% [markdown]` one of text, whose lines are comments. It runs as it is, too: `python docs/tutorials/X.py`.
"""

import base64
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import v4

MARK = re.compile(r"^# %%(?: \[(markdown)\])?\n", re.MULTILINE)
CELL = re.compile(r"(?:[^\s(]*/ipykernel_\d+/)?\b\d{6,}\.py")  # the file of a cell, another one in every run
# Drawings as SVG, with the same names inside on every run.
SETTING = """
%config InlineBackend.figure_formats = ["svg"]
import matplotlib
matplotlib.rcParams.update({"svg.hashsalt": "adjoint", "figure.figsize": (7, 3.2), "axes.spines.top": False,
                            "axes.spines.right": False, "font.size": 9, "figure.constrained_layout.use": True})
"""


def cells(source):
    """The cells of a source, as (is it text, its content)."""
    _, *parts = MARK.split(source)
    for kind, content in zip(parts[::2], parts[1::2], strict=True):
        content = content.strip("\n")
        yield kind == "markdown", re.sub(r"^# ?", "", content, flags=re.MULTILINE) if kind else content


def executed(path):
    """The notebook of a source after a run; an error in a cell is raised with its traceback."""
    made = [v4.new_markdown_cell(text) if words else v4.new_code_cell(text) for words, text in cells(path.read_text())]
    notebook = v4.new_notebook(cells=[v4.new_code_cell(SETTING), *made])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": path.parent}})
    client.extra_arguments = ["--log-level=ERROR"]  # not a warning for each about talking to itself unencrypted
    client.execute()
    del notebook.cells[0]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata = {}
    return notebook


def joined(outputs):
    """Outputs, with what was printed in one go in one piece."""
    found = []
    for output in outputs:
        if found and output.get("name") == found[-1].get("name") == "stdout":
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def fenced(text, kind):
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{ticks}{kind}\n{text.rstrip()}\n{ticks}\n"


def shown(output, name):
    """One output as Markdown, and the files that it refers to."""
    if output.output_type == "stream":
        return fenced(CELL.sub("<cell>", output.text), "text"), {}
    data = output.data
    for kind, ending in (("image/svg+xml", "svg"), ("image/png", "png")):
        if kind in data:
            content = CELL.sub("cell", data[kind]).encode() if ending == "svg" else base64.b64decode(data[kind])
            return f"![what the cell above drew]({Path(name).name}.{ending})\n", {f"{name}.{ending}": content}
    return fenced(data["text/plain"], "text"), {}


def page(notebook, name):
    """The page of a notebook that was run, and the files beside it, by their paths in the site."""
    files = {f"tutorials/{name}.ipynb": nbformat.writes(notebook).encode()}
    parts, drawn = [], 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source + "\n")
            continue
        if cell.source.startswith("assert "):  # a check of what was shown, for the build alone
            continue
        parts.append(fenced(cell.source, "python"))
        texts = []
        for output in joined(cell.outputs):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{name}: a cell wrote to stderr: {output.text}")
            text, extra = shown(output, f"tutorials/{name}_{drawn}")
            drawn += len(extra)
            texts.append(text)
            files |= extra
        if texts:
            parts.append('<div class="output" markdown>\n\n' + "\n".join(texts) + "\n</div>\n")
    title, _, first = parts[0].partition("\n")
    words = f"This page is a notebook that was run when the site was built: [{name}.ipynb]({name}.ipynb)"
    download = f'!!! note ""\n    {words}\n'
    files[f"tutorials/{name}.md"] = "\n".join([title + "\n", download, first, *parts[1:]])
    return files


def pages(folder):
    """All tutorials of a folder: contents of the site's files, by their paths."""
    paths = sorted(folder.glob("*.py"))
    with ThreadPoolExecutor(2) as pool:
        found = {}
        for path, notebook in zip(paths, pool.map(executed, paths), strict=True):
            found |= page(notebook, path.stem)
    return found
