"""Adjoint and torch side by side: `python benchmarks/run.py`.

Each library lives in a process of its own; the two are measured in turn, several times, and the best and the median
time are kept. Ratios are torch's best time over Adjoint's: above 1, Adjoint is faster. Nothing is asserted here.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from cases import CASES, PROBES

LIBRARIES = ("adjoint", "torch")
SECONDS = 0.1  # about this long is one repetition of a timed case
PAUSE = 0.3  # seconds between turns of cases that use threads
PACKAGES = {"adjoint": ("numpy", "scipy-openblas64"), "torch": ()}  # dependencies, where no metadata is installed


class Worker:
    """The process of one library, in this environment (None: that of the caller), with tensors on a device."""

    def __init__(self, library, environment=None, device=None):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), library, *([device] if device else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.package = library

    def ask(self, **request):
        """Sends one request and waits for its answer."""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SystemExit(f"the {self.package} process died while asked for {request}; its error is above")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Progress:
    """One line on the terminal that says what is running; elsewhere, one line for each thing begun."""

    def __init__(self, total):
        self.total = total
        self.begun = 0
        self.terminal = sys.stderr.isatty()

    def begin(self, name):
        self.begun += 1
        self.name = name
        if self.terminal:
            self.say("")
        else:
            print(f"[{self.begun}/{self.total}] {name}", file=sys.stderr, flush=True)

    def say(self, text):
        if self.terminal:
            print(f"\r\033[K[{self.begun}/{self.total}] {self.name} {text}", end="", file=sys.stderr, flush=True)

    def clear(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


# ---- measuring; each function returns rows: dicts with name, title, unit, aim and a list of values per library


def row(name, group, title, unit, aim, values):
    return {"name": name, "group": group, "title": title, "unit": unit, "aim": aim, "values": values}


def measure_case(case, workers, repetitions, progress):
    progress.begin(case.name)
    for worker in workers.values():
        answer = worker.ask(do="prepare", name=case.name, seconds=SECONDS)
        if "error" in answer:
            raise SystemExit(f"{case.name} fails in {worker.package}: {answer['error']}")
    values = {library: [] for library in workers}
    for repetition in range(repetitions):
        progress.say(f"{repetition + 1} of {repetitions}")
        for library, worker in workers.items():
            # Idle threads of the other library go on spinning for a while, on cores that this one needs.
            if case.group != "small":
                time.sleep(PAUSE)
            values[library].append(worker.ask(do="time", name=case.name)["seconds"])
    title = case.title if case.per == 1 else f"{case.title}, per {case.unit}"
    return [row(case.name, case.group, title, "s", f"at least {case.aim}x" if case.aim else "", values)]


def measure_probe(probe, libraries, repetitions, progress):
    progress.begin(probe.name)
    results = {library: [] for library in libraries}
    for repetition in range(repetitions):
        for library in libraries:
            progress.say(f"{library}, {repetition + 1} of {repetitions}")
            worker = Worker(library)
            results[library].append(worker.ask(do="measure", name=probe.name))
            worker.close()
    return [
        row(
            f"{probe.name}_{key}",
            probe.group,
            title,
            unit,
            aim,
            {library: [result[key] for result in results[library]] for library in libraries},
        )
        for key, title, unit, aim in probe.metrics
    ]


def measure_import(libraries, repetitions, progress):
    """Wall time of a fresh interpreter that imports the library, less that of one that imports nothing."""

    def start(statement):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - begin

    progress.begin("import")
    start("pass")
    values = {library: [] for library in libraries}
    for repetition in range(repetitions):
        progress.say(f"{repetition + 1} of {repetitions}")
        bare = min(start("pass") for _ in range(3))
        for library in libraries:
            values[library].append(start(f"import {library}") - bare)
    return [row("import", "memory", "import, beyond starting Python", "s", "at most 150 ms", values)]


def distribution_files(name):
    """The files of an installed distribution; of its package folder when it was not installed by a wheel."""
    try:
        files = [str(file.locate()) for file in importlib.metadata.files(name) or ()]
    except importlib.metadata.PackageNotFoundError:
        files = []
    spec = importlib.util.find_spec(name.replace("-", "_"))
    if spec is not None and spec.origin and not any(".so" in file or ".dylib" in file for file in files):
        files += [str(file) for file in Path(spec.origin).parent.rglob("*") if "__pycache__" not in file.parts]
    return {os.path.normpath(file) for file in files if os.path.isfile(file)}


def dependencies(name):
    """The names of the installed distributions that this one needs, directly or not, and its own."""
    found, waiting = set(), [name]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            requirements = importlib.metadata.requires(name) or ()
        except importlib.metadata.PackageNotFoundError:
            requirements = PACKAGES.get(name, ())
        for requirement in requirements:
            needed, _, marker = requirement.partition(";")
            needed = re.match(r"[\w.-]+", needed).group().lower()
            if "extra" not in marker and (needed in PACKAGES.get(name, ()) or is_installed(needed)):
                waiting.append(needed)
    return found


def is_installed(name):
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def installed_size(libraries, progress):
    progress.begin("size")
    own = {library: [size_of(distribution_files(library))] for library in libraries}
    full = {}
    for library in libraries:
        full[library] = [size_of(set().union(*map(distribution_files, dependencies(library))))]
    return [
        row("size", "memory", "installed size", "B", "", own),
        row("size_full", "memory", "installed size with all dependencies", "B", "", full),
    ]


def size_of(files):
    return sum(os.path.getsize(file) for file in files)


# ---- the machine


def cpu_model():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def describe(workers):
    """The machine and the versions, as a dict of short texts."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = {"cpu": cpu_model(), "cores": cores, "system": platform.platform(), "python": platform.python_version()}
    for library, worker in workers.items():
        machine[library] = worker.ask(do="describe")
    return machine


def machine_lines(machine):
    lines = [f"{machine['cpu']}, {machine['cores']} cores; {machine['system']}; Python {machine['python']}"]
    for library in LIBRARIES:
        if library in machine:
            about = machine[library]
            extra = f", {about['instruction_set']} kernels" if "instruction_set" in about else ""
            extra += f", on {about['device']}" if "device" in about else ""
            lines.append(f"{library} {about['version']}, {about['threads']} threads by default{extra}")
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("OPENBLAS_")]
    return lines + ([f"OpenBLAS, which adjoint uses, had {', '.join(settings)}"] if settings else [])


# ---- the table


def show(value, unit):
    """A number with a unit that suits its size: 1.23 µs, 456 B, 7.8 MB."""
    scales = {
        "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
        "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    }[unit]
    scale, name = next(((s, n) for s, n in scales if abs(value) >= s), scales[-1])
    if unit == "B" and value < 10_000:
        scale, name = 1, "B"
    digits = value / scale
    return f"{digits:.0f} {name}" if digits >= 100 or name == "B" else f"{digits:.3g} {name}"


def cells(item):
    """The texts of one row: title, then per library best and median, then the ratio and what is aimed at."""
    texts = [item["title"]]
    for library in LIBRARIES:
        values = item["values"].get(library)
        if not values:
            texts.append("-")
        elif len(values) == 1:
            texts.append(show(values[0], item["unit"]))
        else:
            texts.append(f"{show(min(values), item['unit'])} ({show(statistics.median(values), item['unit'])})")
    ratio = ratio_of(item)
    texts.append("-" if ratio is None else f"{ratio:.1f}x" if ratio < 100 else f"{ratio:.0f}x")
    return [*texts, item["aim"]]


def ratio_of(item):
    values = item["values"]
    if not all(values.get(library) for library in LIBRARIES) or min(values["adjoint"]) <= 0:
        return None
    return min(values["torch"]) / min(values["adjoint"])


HEADER = ["", "adjoint", "torch", "torch / adjoint", "aim"]
CAPTION = (
    "Best (and median) of several repetitions, the two libraries taking turns in processes of their own. "
    "Small cases run on one thread, the others on as many as each library takes by default. "
    "Memory is the growth of the process's resident set over 200,000 operations."
)


def text_table(rows):
    lines = [HEADER, *(cells(item) for item in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    out = []
    for number, line in enumerate(lines):
        out.append("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
        if number == 0:
            out.append("  ".join("-" * width for width in widths))
    return "\n".join(out)


def markdown_table(rows, machine):
    lines = ["| " + " | ".join(HEADER) + " |", "|---|---:|---:|---:|---|"]
    lines += ["| " + " | ".join(cells(item)) + " |" for item in rows]
    return "\n".join([*lines, "", CAPTION, *(f"{line}." for line in machine_lines(machine))])


PAGE_HEADER = ["| torch / adjoint | before | now | aim |", "|---|---:|---:|---|"]
PAGE_TABLE = re.compile(r"(<!-- ratios -->\n).*?(<!-- end of ratios -->\n)", re.DOTALL)


def update_page(path, rows, machine):
    """Writes the ratios into the column `now` of the table in docs/performance.md; what was not measured stays."""
    text = path.read_text()
    if not (found := PAGE_TABLE.search(text)):
        raise SystemExit(f"{path}: expected a table between <!-- ratios --> and <!-- end of ratios -->")
    lines = [line.strip("|").split("|") for line in found.group().splitlines() if line.startswith("| ")]
    table = {line[0].strip(): [cell.strip() for cell in line] for line in lines[1:]}
    for item in rows:
        title, *_, ratio, aim = cells(item)
        table[title] = [title, table[title][1] if title in table else "-", ratio, aim]
    lines = [*PAGE_HEADER, *("| " + " | ".join(line) + " |" for line in table.values()), ""]
    lines += [f"{line}." for line in machine_lines(machine)]
    path.write_text(PAGE_TABLE.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], text))


def main():
    names = [*(case.name for case in CASES), *(probe.name for probe in PROBES), "import", "size"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--repetitions", type=int, default=10, help="how often each case is timed (10)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measured value to FILE")
    parser.add_argument("--markdown", action="store_true", help="print the table of times in docs/performance.md")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the ratios into docs/performance.md")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions: expected at least 1")
    chosen = options.only or names
    libraries = [library for library in LIBRARIES if importlib.util.find_spec(library)]
    if "adjoint" not in libraries:
        raise SystemExit("adjoint is not installed here; run `pip install .` first")
    if "torch" not in libraries:
        print("torch is not installed: measuring adjoint alone (pip install '.[bench]')", file=sys.stderr)

    progress = Progress(len(chosen))
    workers = {library: Worker(library) for library in libraries}
    machine = describe(workers)
    rows = []
    for case in CASES:
        if case.name in chosen:
            rows += measure_case(case, workers, options.repetitions, progress)
    for worker in workers.values():
        worker.close()
    for probe in PROBES:
        if probe.name in chosen:
            rows += measure_probe(probe, libraries, min(3, options.repetitions), progress)
    if "import" in chosen:
        rows += measure_import(libraries, options.repetitions, progress)
    if "size" in chosen:
        rows += installed_size(libraries, progress)
    progress.clear()

    if options.markdown:
        print(markdown_table(rows, machine))
    else:
        print("\n".join(machine_lines(machine)), CAPTION, "", text_table(rows), sep="\n")
    if options.page:
        update_page(options.page, rows, machine)
    if options.json:
        for item in rows:
            item["ratio"] = ratio_of(item)
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
