"""The types that users see: mypy and pyright on programs of users, as strict as they can be.

The programs in tests/typing pass both checkers, but for lines that end in `# error: mypy[code] pyright[rule]`, which
must fail by these. What a checker reports elsewhere fails the test, and so does a mark without an error.
"""

import ast
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(__file__).resolve().parent / "typing"
sys.path.insert(0, str(ROOT / "tools"))

import stubs  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the package as it is installed: its files, its stubs, and the mark that it is typed."""
    package = Path(adjoint.__file__).parent
    if (package / "_C.pyi").exists():
        return package.parent
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(package, folder / "adjoint", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name, text in stubs.Stubs(adjoint).files().items():
        (folder / "adjoint" / name).write_text(text)
    return folder


def expected(checker):
    """The code of the error that is expected of each line: {(file, line): code}."""
    marks = {}
    for path in sorted(PROGRAMS.glob("*.py")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            _, found, mark = line.partition("# error: ")
            if found and (code := re.search(rf"\b{checker}\[([\w-]+)\]", mark)):
                marks[path.name, number] = code[1]
    return marks


def run(command, site, folder):
    """What a checker prints."""
    environment = {"PYTHONPATH": str(site), "PATH": str(Path(sys.executable).parent), "HOME": str(folder)}
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def mypy(site, folder):
    """The errors of mypy --strict: {(file, line): [(code, words)]}."""
    command = ["mypy", "--strict", "--no-error-summary", "--python-version=3.11", f"--cache-dir={folder}"]
    found = {}
    for line in run([*command, *map(str, sorted(PROGRAMS.glob("*.py")))], site, folder).splitlines():
        if match := re.fullmatch(r"(.+\.py):(\d+): error: (.*?)  \[([\w-]+)\]", line):
            found.setdefault((Path(match[1]).name, int(match[2])), []).append((match[4], match[3]))
    return found


def pyright(site, folder):
    """The errors of pyright in its strict mode, by basedpyright, which is the same checker with all that it needs."""
    settings = {"include": [str(PROGRAMS)], "typeCheckingMode": "strict", "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    found = {}
    for one in json.loads(run(["basedpyright", "--outputjson"], site, folder))["generalDiagnostics"]:
        place = Path(one["file"]).name, one["range"]["start"]["line"] + 1
        found.setdefault(place, []).append((one.get("rule"), one["message"]))
    return found


@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda checker: checker.__name__)
def test_programs_of_users(checker, site, tmp_path):
    found, marks = checker(site, tmp_path), expected(checker.__name__)
    assert len(marks) > 30
    assert {place: errors for place, errors in found.items() if place not in marks} == {}
    wrong = {place: (code, found.get(place)) for place, code in marks.items() if code not in dict(found.get(place, []))}
    assert wrong == {}


def test_what_is_written_by_hand_is_there():
    """Every name in tools/types is one of the package, with the same parameters."""
    wrong = []
    for path in sorted(stubs.WRITTEN.rglob("*.pyi")):
        inner = ".".join(path.relative_to(stubs.WRITTEN).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        module = importlib.import_module(f"adjoint.{inner}" if inner else "adjoint")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                if not hasattr(module, node.name):
                    wrong.append(f"{inner}.{node.name}")
                for one in node.body if isinstance(node, ast.ClassDef) else ():
                    own = getattr(module, node.name, None)
                    if isinstance(one, ast.FunctionDef) and one.name != "__getattr__" and not hasattr(own, one.name):
                        wrong.append(f"{inner}.{node.name}.{one.name}")
    assert wrong == []
