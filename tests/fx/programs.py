"""Programs given as text, run with `torch` as each of the libraries; what they print is compared."""

import contextlib
import difflib
import importlib
import io
import itertools
import linecache
import re
import sys
import textwrap
import warnings

import torch

import adjoint

PRELUDE = """
import collections, copy, dataclasses, io, math, operator, pickle, typing
nn, F, fx = torch.nn, torch.nn.functional, torch.fx
from contextlib import suppress

def attempt(function):
    try:
        result = function()
    except Exception as error:
        print(type(error).__name__, error)
    else:
        if result is not None:
            print(result)

def show(function, **options):
    attempt(lambda: (lambda gm: f"{gm.code}{gm.graph}")(fx.symbolic_trace(function, **options)))

def module(name):
    return importlib.import_module(f"{torch.__name__}.{name}")
"""
_numbers = itertools.count()


def output(text, library):
    """What a program prints on one library; addresses left out."""
    source = PRELUDE + textwrap.dedent(text)
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    home = type(sys)(f"program_{library.__name__}")
    vars(home).update(torch=library, importlib=importlib)
    sys.modules[home.__name__] = home  # where pickles look for its classes
    library.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()) as written, warnings.catch_warnings():
        if library is torch:
            warnings.simplefilter("ignore")  # what torch says of itself
        exec(compile(source, name, "exec"), vars(home))
    return re.sub(r"0x[0-9a-f]+", "0x", written.getvalue()).replace(home.__name__, "program")


def same(text):
    """Asserts that a program prints the same on both libraries, and something; the text."""
    theirs, ours = output(text, torch), output(text, adjoint)
    assert ours == theirs, "\n".join(difflib.unified_diff(theirs.split("\n"), ours.split("\n"), "torch", "adjoint"))
    assert ours.strip()
    return ours
