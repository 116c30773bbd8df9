"""docs/add_an_op.md, followed to the letter: written into a copy of the tree, which is then built and tested.

    python -m tests.add_an_op [BUILD]
    python -m tests.add_an_op --examples  # those of the page alone: in a tree where the ops are

BUILD is the folder of a finished build of this tree, build/dev unless told: what the page does not touch is taken from
there, so that this takes a minute or two and not as long as a whole build.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import reuse_objects
from .documents import BLOCK, ROOT, blocks, run_examples

PAGE = ROOT / "docs" / "add_an_op.md"
PARTS = (".clang-format", ".gitignore", "CMakeLists.txt", "pyproject.toml", "csrc", "docs", "src", "tests", "tools")
# What the build leaves in the tree.
BUILT = shutil.ignore_patterns("__pycache__", "*.so", "derived.py")


def files():
    """(language, path, text) of the blocks that are headed by a path: what the page says to write."""
    return [(language, path, text) for language, path, text in BLOCK.findall(PAGE.read_text()) if "/" in path]


def changed(text, difference):
    """A text with the lines of a difference put in; those around them say where, and must stand there once."""
    lines = difference.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if not line.startswith("+"))
    assert text.count(before) == 1, f"{text.count(before)} places to change:\n{before}"
    return text.replace(before, "".join(line[1:] for line in lines if not line.startswith("-")))


def follow(tree):
    """Writes into a tree what the page says."""
    for language, name, text in files():
        path = tree / name
        assert path.exists() == (language == "diff"), f"{name} is there already, or is not there to be changed"
        path.write_text(changed(path.read_text(), text) if language == "diff" else text)


def copy(tree):
    """The sources, without what is built from them."""
    (tree / ".git").mkdir(parents=True)  # linters ask .gitignore in a repository alone
    for part in PARTS:
        path = ROOT / part
        shutil.copytree(path, tree / part, ignore=BUILT) if path.is_dir() else shutil.copy(path, tree)


def configure(tree, build, notes):
    """The build folder that the page takes for granted, as CONTRIBUTING.md makes it, with the options of a build."""
    lines = (build / "CMakeCache.txt").read_text().splitlines()
    cache = dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith(("#", "//")))
    cache = {name: value.partition("=")[2] for name, value in cache.items()}
    other = tree / "build" / "dev"
    notes.mkdir()
    reuse_objects.note(build, cache["CMAKE_HOME_DIRECTORY"], other, tree, notes)
    launcher = ";".join([sys.executable, "-S", reuse_objects.__file__, str(notes)])
    kept = ("CMAKE_BUILD_TYPE", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "ADJOINT_WERROR", "ADJOINT_ISA_VARIANTS")
    kept += ("ADJOINT_PRECOMPILE",)
    options = [f"-D{name}={cache[name]}" for name in kept if cache.get(name)]
    options += [f"-DCMAKE_{language}_COMPILER_LAUNCHER={launcher}" for language in ("C", "CXX")]
    options += ["-DADJOINT_IN_PLACE=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(["cmake", "-S", tree, "-B", other, "-G", "Ninja", *options], check=True, stdout=subprocess.DEVNULL)


def run(tree):
    """Types the page's commands, and runs its examples."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    (commands,) = blocks(PAGE, "sh", "added")
    for line in (*commands.splitlines(), "python -m tests.add_an_op --examples"):
        print("$", line, flush=True)
        subprocess.run(line, shell=True, cwd=tree, env=environment, check=True)


def run_added_examples():
    """The examples of the page; in the copy, where the ops are there."""
    for text in blocks(PAGE, "python", "added"):
        run_examples(text, PAGE.name)


def main():
    if sys.argv[1:] == ["--examples"]:
        return run_added_examples()
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "dev").resolve()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        copy(tree)
        follow(tree)
        configure(tree, build, Path(folder) / "notes")
        run(tree)


if __name__ == "__main__":
    main()
