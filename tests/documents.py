"""Documents, read for what can be run: their fenced blocks and their examples."""

import doctest
import re
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w*) ?([\w./-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path, language, kind=""):
    """The fenced blocks of a document whose first line is ```language kind."""
    return [text for what, which, text in BLOCK.findall(path.read_text()) if (what, which) == (language, kind)]


def run_examples(text, name, warned="error"):
    """Runs `>>>` examples, as a rule with warnings as errors; fails with doctest's own report."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    report = []
    with warnings.catch_warnings():
        warnings.simplefilter(warned)
        failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not failed, "".join(report)
