"""A process that holds one library and measures on request: lines of JSON in, lines of JSON out.

With a device behind the library's name, tensors are made there, and each measurement waits for it at the end.
"""

import importlib
import json
import os
import resource
import sys
import time

import distributions_cases
import foreach_cases
import overrides_cases
import sweep_cases
import training_cases
import transforms_cases
from cases import CASES, PROBES


def calibrate(step, seconds, wait):
    """How many calls of `step` take about this long. Its calls also warm up caches and thread pools."""
    calls = 1
    while True:
        took = run(step, calls, wait)
        if took >= seconds / 4:
            return max(1, round(calls * seconds / took))
        calls *= 4


def run(step, calls, wait):
    """Seconds for so many calls, with the garbage collector on, as in ordinary programs."""
    repeat = range(calls)
    start = time.perf_counter()
    for _ in repeat:
        step()
    wait()
    return time.perf_counter() - start


def nothing():
    """What is waited for on the CPU, which has computed a result when a call returns."""


def main():
    library = importlib.import_module(sys.argv[1])
    wait = nothing
    if device := "".join(sys.argv[2:]):
        library.set_default_device(device)
        wait = library.accelerator.synchronize
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    threads = library.get_num_threads()
    families = (distributions_cases, foreach_cases, overrides_cases, sweep_cases, training_cases, transforms_cases)
    cases = {case.name: case for case in sum((family.CASES for family in families), CASES)}
    probes = {probe.name: probe for probe in PROBES}
    prepared = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request.get("name")
        if request["do"] == "describe":
            answer = {"version": library.__version__, "threads": threads}
            if sys.argv[1] == "adjoint":
                answer["instruction_set"] = library._C._instruction_set()
            if device:
                answer["device"] = library.cuda.get_device_name()
        elif request["do"] == "prepare":
            library.manual_seed(0)
            library.set_num_threads(1 if cases[name].group == "small" else threads)
            prepared.clear()
            try:
                # One that is not like torch brings its own.
                step = library.MAKERS[name]() if hasattr(library, "MAKERS") else cases[name].make(library)
                step()
                wait()
                prepared[name] = step, calibrate(step, request["seconds"], wait)
                answer = {"calls": prepared[name][1]}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
        elif request["do"] == "time":
            step, calls = prepared[name]
            answer = {"seconds": run(step, calls, wait) / calls / cases[name].per}
        elif request["do"] == "peak":
            kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            answer = {"bytes": kilobytes * (1 if sys.platform == "darwin" else 1024)}
        else:
            answer = probes[name].measure(library)
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
