"""Resident memory beside torch, after programs that use much and free it: `python benchmarks/memory.py`.

Each program runs in a process of its own and reports the growth of its resident set: at most, once everything is freed,
and after fifteen idle seconds. Prints a table in Markdown.
"""

import json
import subprocess
import sys
import time

from run import LIBRARIES, Worker, describe, machine_lines, show

IDLE = 15  # seconds


def one_tensor(torch):
    """one tensor of 1.9 GB"""
    torch.ones(475_000_000)


def many_tensors(torch):
    """95 tensors of 20 MB"""
    [torch.ones(5_000_000) for _ in range(95)]


def medium_tensors(torch):
    """1,900 tensors of 1 MB"""
    [torch.ones(250_000) for _ in range(1900)]


def small_tensors(torch):
    """30,000 tensors of 32 KB"""
    [torch.ones(8_000) for _ in range(30_000)]


def eight_sizes(torch):
    """1 GB of tensors, in eight sizes one after another"""
    for k in range(8):
        n = int(1_000_000 * 1.37**k)
        for _ in range(3):
            kept = [torch.ones(n) for _ in range(250_000_000 // n)]
            del kept


def loop(torch):
    """20 times forward and backward of 10 M elements"""
    x, y = (torch.ones(10_000_000, requires_grad=True) for _ in range(2))
    for _ in range(20):
        x.grad = y.grad = None
        (x * y).sum().backward()


def graph(torch):
    """a graph of a million nodes"""
    y = torch.ones(4, requires_grad=True)
    for _ in range(1_000_000):
        y = y * 1.0000001


PROGRAMS = {
    program.__name__: program
    for program in (one_tensor, many_tensors, medium_tensors, small_tensors, eight_sizes, loop, graph)
}


def resident(field="VmRSS"):
    """Bytes of memory that this process has, or with VmHWM the most that it had."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def measure(library, name):
    """Runs in the process that is measured."""
    torch = __import__(library)
    torch.ones(1000, 1000) @ torch.ones(1000, 1000)  # threads and libraries are there
    before = resident()
    PROGRAMS[name](torch)
    after = resident()
    time.sleep(IDLE)
    print(json.dumps([resident("VmHWM") - before, after - before, resident() - before]))


def main():
    workers = {library: Worker(library) for library in LIBRARIES}
    machine = machine_lines(describe(workers))
    for worker in workers.values():
        worker.close()
    columns = [f"{what}, {library}" for what in ("peak", "freed", "idle") for library in LIBRARIES]
    print("| " + " | ".join(["program", *columns]) + " |")
    print("|---|" + "---:|" * len(columns))
    for name, program in PROGRAMS.items():
        commands = [[sys.executable, __file__, library, name] for library in LIBRARIES]
        outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for command in commands]
        figures = [json.loads(output) for output in outputs]
        cells = [show(max(size, 0), "B") for pair in zip(*figures, strict=True) for size in pair]
        print("| " + " | ".join([program.__doc__, *cells]) + " |", flush=True)
    print("\n" + "\n".join(f"{line}." for line in machine))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
    else:
        main()
