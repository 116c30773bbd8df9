"""docs/errors.md is true: its programs raise what it says, its cures work, and no error of autograd is missing.

The messages on the page are what the programs raise. After a change of a message, `python tests/test_error_page.py`
writes them anew.
"""

import ast
import contextlib
import io
import re
import textwrap
import warnings
from pathlib import Path

import pytest
import torch

import adjoint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errors.md"
ENTRY = re.compile(
    r"^### (?P<title>[^\n]+)\n\n```text\n(?P<message>.*?)^```\n```python (?P<kind>(?:raises|warns)(?:-here)?)\n"
    r"(?P<program>.*?)^```\n(?P<why>[^#`]*(?:`[^`\n]+`[^#`]*)*)^```python cured\n(?P<cure>.*?)^```\n",
    re.MULTILINE | re.DOTALL,
)
ENTRIES = {entry["title"]: entry for entry in ENTRY.finditer(PAGE.read_text())}
OPENING = 40  # so many characters of a message are the same in both libraries


def run(program, library, warns=False):
    """Runs a program of the page in a library; what it raised, as a traceback's last lines say it, or None.

    With `warns`, it is its first warning instead, which must point to a line of the program here.
    """
    names = {"torch": library, "__name__": "program"}
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            exec(compile(program, "program.py", "exec"), names)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    if not warns or not caught:
        return None
    assert library is torch or caught[0].filename == "program.py", caught[0]
    return f"{caught[0].category.__name__}: {caught[0].message}"


def outcome(entry, library):
    return run(entry["program"], library, warns=entry["kind"].startswith("warns"))


def words(text):
    return " ".join(text.split())


def test_every_heading_is_an_entry():
    assert list(ENTRIES) == re.findall(r"^### (.+)$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("title", ENTRIES)
def test_program_raises(title):
    entry = ENTRIES[title]
    raised = outcome(entry, adjoint)
    assert raised is not None, "the program runs"
    assert words(raised) == words(entry["message"]), "another message; see the top of this file"


@pytest.mark.parametrize("title", [title for title, entry in ENTRIES.items() if not entry["kind"].endswith("-here")])
def test_torch_raises_it_in_the_same_words(title):
    entry = ENTRIES[title]
    raised = outcome(entry, torch)
    assert raised is not None, "torch runs the program: mark it as one of here"
    opening = words(raised.rstrip(".").partition(": ")[2])[:OPENING]
    kind = raised.partition(":")[0]
    assert words(entry["message"]).startswith(f"{kind}: {opening}")


@pytest.mark.parametrize("title", ENTRIES)
def test_cure_works(title):
    entry = ENTRIES[title]
    warns = entry["kind"].startswith("warns")
    assert run(entry["cure"], adjoint, warns) is None
    if not entry["kind"].endswith("-here"):
        assert run(entry["cure"], torch, warns) is None


# ---- The page is complete: each text that the sources raise is on it

# Whatever autograd's own files raise, and of the others what they say about gradients.
OWN = ("csrc/tape/", "csrc/python/autograd", "csrc/python/function", "csrc/python/graph", "src/adjoint/autograd/")
PROFILERS = "src/adjoint/autograd/profiler"  # of time and memory, not of gradients
SINGLE_OPS = ("csrc/ops/", "csrc/cpu/", "csrc/meta/", "src/adjoint/ops/", "src/adjoint/_by_use")  # of its own arguments
ABOUT = re.compile(r"\bgrad\b|requires_grad|gradient|autograd|inference|leaf|inplace|written-to|broadcast shape")
# Wrong calls, which say all by themselves; private functions; states that cannot be reached; base methods.
NOT_SHOWN = re.compile(
    r"must be bool|are True or False|positional argument|keyword argument|multiple values|missing required"
    r"|\(\): argument '"
    r"|set_anomaly_enabled"
    r"|^run_backward\(|^_\w+\(\w+, |^apply\(\)|^expected a Node|has no place in a graph|in this thread"
    r"|_backward: |^convolution_|^softmax backward|^backward of a view|another dtype than its base"
    r"|^has no attribute$|^grad is incorrect size|^Gradient has dtype mismatch"
    r"|^Hooks registered with ``register_load_state_dict_post_hook``"
    r"|^new_scale should be|a rule begins with param and grad|^SparseAdam|^expected a storage"
    r"|^setup_context is not|^You must implement the jvp|^To use autograd.Function with vmap"
    r"|^expected a Tensor; got$|^_swap_tensor_impl\(\): "  # of private functions; torch.utils checks before it calls
    r"|^leaf node should not have$"  # of a tree of containers, not of a graph
    r"|^_unscale: |^In any :class:|^Can't get __cuda_array_interface__"  # of GPUs: programs of the page run anywhere
)


def longest_literals(path):
    """For each error that a C++ file raises: the longest string in the call, adjacent literals joined."""
    text = path.read_text()
    for call in re.finditer(r"\bfail\(", text):
        depth, parts, joined, position = 1, [], False, call.end()
        for token in re.finditer(r'"((?:[^"\\]|\\.)*)"|//[^\n]*|[()]|[^\s"()]', text[position:]):
            if token.group().startswith("//"):
                continue
            if token.group(1) is not None:
                literal = token.group(1).replace('\\"', '"').replace("\\'", "'")
                parts = [*parts[:-1], parts[-1] + literal] if joined else [*parts, literal]
            joined = token.group(1) is not None
            depth += (token.group() == "(") - (token.group() == ")")
            if depth == 0:
                break
        if parts:
            yield max(parts, key=len)


def raised_literals(path):
    """The same of a Python file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = node.exc.args[0]
            pieces = text.values if isinstance(text, ast.JoinedStr) else [text]
            constants = [piece.value for piece in pieces if isinstance(piece, ast.Constant)]
            if constants:
                yield max(constants, key=len)


def texts_of_sources():
    for folder, suffix, literals in (("csrc", "cpp", longest_literals), ("src", "py", raised_literals)):
        for path in sorted((ROOT / folder).rglob(f"*.{suffix}")):
            name = path.relative_to(ROOT).as_posix()
            for text in literals(path):
                own = name.startswith(OWN) and not name.startswith(PROFILERS)
                if own or (ABOUT.search(text) and not name.startswith(SINGLE_OPS)):
                    yield name, words(text)


def test_no_error_is_missing():
    shown = words(PAGE.read_text())
    missing = [
        f"{name}: {text}" for name, text in texts_of_sources() if text not in shown and not NOT_SHOWN.search(text)
    ]
    assert not missing, "\n".join(["not in docs/errors.md:", *missing])


def rewrite():
    """Fills in the messages that the programs raise now."""

    def entry(match):
        raised = outcome(match, adjoint) or "nothing is raised"
        lines = [part for line in raised.splitlines() for part in textwrap.wrap(line, 118, break_long_words=False)]
        start, end = match.start("message") - match.start(), match.end("message") - match.start()
        return match.group()[:start] + "\n".join(lines) + "\n" + match.group()[end:]

    PAGE.write_text(ENTRY.sub(entry, PAGE.read_text()))


if __name__ == "__main__":
    rewrite()
