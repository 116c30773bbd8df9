"""Runs the program of a package with torch and with Adjoint, in processes of their own, and compares their numbers."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ..processes import ENVIRONMENT
from .catalogue import Package
from .install import NotInstalled, installed, last_words

PROGRAMS = Path(__file__).resolve().parent / "programs"
LIMIT = 180  # seconds for one run of a program
# How far a number may lie from torch's, relative to the largest of its array: what sums in another order and functions
# rounded in another way make of a few steps. Numbers of other types are equal.
WITHIN = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5, "float16": 1e-2}
# Gradients that are zero but for rounding, such as that of a bias before a batch norm: in these units of the last place
# of the largest gradient of all. Nothing but their smallness can be compared.
ZERO = 8
# How a message says that something of torch is missing, in its place under one name or the other.
MISSING = (
    re.compile(r"No module named '(?P<module>(?:torch|adjoint)\b[\w.]*)'"),
    re.compile(r"module '(?P<module>(?:torch|adjoint)\b[\w.]*)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>(?:torch|adjoint)\b[\w.]*)'"),
)
ERROR = re.compile(r"[\w.]*(Error|Exception)\b")  # how the line of an error begins; notes may follow


@dataclasses.dataclass
class Outcome:
    """What came of a package."""

    package: Package
    kind: str  # "agrees", "differs", "stops", or "fails" where it does not run with torch either
    detail: str = ""
    difference: float = 0.0  # the largest, in units of what is allowed
    faster: float | None = None  # how many times, than torch

    def words(self):
        """The result in a line."""
        return {"stops": "stops at ", "differs": "differs: "}.get(self.kind, self.kind + ": " * bool(self.detail)) + (
            self.detail if self.kind != "agrees" else ""
        )


class Stopped(Exception):
    """A program did not end well; the message says why in a line."""


def outcome(package, folder, stage=lambda text: None, itself=False, limit=LIMIT):
    """Installs and runs a package, and says what came of it. `stage` is told what is being done.

    `itself` runs it with torch twice: a program whose numbers differ then says nothing of Adjoint.
    """
    try:
        paths = []
        for requirement in package.requirements():
            stage(f"installing {requirement}")
            paths.append(installed(requirement, folder))
    except NotInstalled as error:
        return Outcome(package, "fails", f"not installed: {error}")
    with tempfile.TemporaryDirectory() as work:
        try:
            stage("running with torch")
            theirs = run(package, paths, [], Path(work) / "first", limit)
        except Stopped as error:
            return Outcome(package, "fails", f"with torch itself: {error}")
        try:
            stage("running with torch again" if itself else "running with Adjoint")
            ours = run(package, paths, [] if itself else ["-m", "adjoint.run"], Path(work) / "second", limit)
        except Stopped as error:
            return Outcome(package, "stops", str(error))
    return compared(package, ours, theirs)


def run(package, paths, way, folder, limit):
    """The arrays that a program reports, by name; "seconds" among them."""
    folder.mkdir()
    path = os.pathsep.join([*map(str, paths), ENVIRONMENT["PYTHONPATH"]])
    environment = {
        **ENVIRONMENT,
        "PYTHONPATH": path,
        "ADJOINT_REPORT": str(folder / "report.npz"),
        **OFFLINE,
        **ONE_THREAD,
    }
    process = subprocess.Popen(
        [sys.executable, *way, str(PROGRAMS / package.program())],
        cwd=folder,
        env=environment | {"HOME": str(folder), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # so that what it starts can be ended with it
    )
    try:
        said = process.communicate(timeout=limit)[1]
    except subprocess.TimeoutExpired:
        raise Stopped(f"no end after {limit} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode < 0:
        raise Stopped(f"signal {signal.Signals(-process.returncode).name}")
    if process.returncode:
        raise Stopped(reason(said))
    if not (folder / "report.npz").exists():
        raise Stopped("the end, with nothing reported")
    with np.load(folder / "report.npz") as found:
        return dict(found)


# Programs make their models and data on the spot.
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "NO_ALBUMENTATIONS_UPDATE": "1", "MPLBACKEND": "Agg"}


# Threads that wait for each other on a busy machine cost a hundred times what is computed here: times would be those of
# the waiting.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ADJOINT_NUM_THREADS"), "1")


def reason(said):
    """What a failed program stopped at: the name that is missing in torch, or the last line of the error.

    Packages that import their parts when they are asked for raise an error of their own after the one that says it.
    """
    for line in reversed(said.splitlines()):
        for pattern in MISSING:
            if found := pattern.search(line):
                words = found.groupdict()
                return ".".join(filter(None, (re.sub("^adjoint", "torch", words["module"]), words.get("name"))))
    errors = [line for line in said.splitlines() if ERROR.match(line)]
    last = errors[-1] if errors else last_words(said)
    return last if len(last) < 160 else last[:160] + "..."


def compared(package, ours, theirs):
    """The outcome of two runs that ended well."""
    seconds = ours.pop("seconds"), theirs.pop("seconds")
    faster = float(seconds[1].min() / seconds[0].min()) if seconds[0].size else None
    if ours.keys() != theirs.keys():
        odd = sorted(ours.keys() ^ theirs.keys())
        return Outcome(package, "differs", f"{odd[0].removeprefix('number:')} is reported by one alone", faster=faster)
    worst, where = 0.0, ""
    gradients = [value for key, value in theirs.items() if key.startswith("number:gradient of ") and value.size]
    steepest = max((float(np.abs(value).max()) for value in gradients), default=0.0)
    for key, expected in theirs.items():
        units = distance(ours[key], expected, package.within, steepest)
        if units > worst:
            worst, where = units, f"{key.removeprefix('number:')} by {how_far(ours[key], expected)}"
    if worst > 1:
        return Outcome(package, "differs", where, worst, faster)
    return Outcome(package, "agrees", "", worst, faster)


def distance(ours, theirs, within, steepest=0.0):
    """How far apart two arrays are, in units of what is allowed; infinite if they are of other shapes or types.

    `steepest` is the largest of all gradients: arrays that are zero beside it, both of them, are not apart.
    """
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return np.inf
    if theirs.dtype.kind not in "fc":
        return 0.0 if np.array_equal(ours, theirs) else np.inf
    allowed = within or WITHIN[theirs.dtype.name]
    if not np.array_equal(np.isfinite(ours), np.isfinite(theirs)):
        return np.inf
    if not np.array_equal(ours[~np.isfinite(ours)], theirs[~np.isfinite(theirs)], equal_nan=True):
        return np.inf
    if theirs.size and max(np.abs(ours).max(), np.abs(theirs).max()) <= ZERO * np.finfo(theirs.dtype).eps * steepest:
        return 0.0
    return relative(ours, theirs) / allowed


def relative(ours, theirs):
    """The largest difference, relative to the largest number; below the smallest normal number nothing counts."""
    finite = np.isfinite(theirs)
    if not finite.any():
        return 0.0
    largest = max(np.abs(theirs[finite]).max(), np.finfo(theirs.dtype).tiny)
    return float(np.abs(ours[finite] - theirs[finite]).max() / largest)


def how_far(ours, theirs):
    """The difference of two arrays in words."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{list(ours.shape)} for {theirs.dtype}{list(theirs.shape)}"
    if theirs.dtype.kind not in "fc":
        return f"{np.count_nonzero(ours != theirs)} of {theirs.size}"
    if not np.array_equal(np.isfinite(ours), np.isfinite(theirs)):
        return (
            f"{np.count_nonzero(~np.isfinite(ours))} that are not finite for {np.count_nonzero(~np.isfinite(theirs))}"
        )
    return f"{relative(ours, theirs):.1e}"
