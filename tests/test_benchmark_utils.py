"""torch.utils.benchmark: times of statements, and tables of them."""

import re

import pytest
import torch
import torch.utils.benchmark

import adjoint

from .compare import LIBRARIES, same

KINDS = ("sub", "longer"), ("first", "second")


def numbers_out(text):
    """Times differ: without them, and without the addresses of objects."""
    text = re.sub(r"<[\w.]+ object at 0x\w+>", "<>", text)
    return re.sub(r" +[\d.]+ [num]?s\b", " T", text)


def test_measurements_read_as_torchs():
    def seen(L):
        benchmark = L.utils.benchmark
        task = benchmark.TaskSpec("x + y", "x = y = 1", label="sum", sub_label="small", description="ints")
        times = [1e-3, 2e-3, 3e-3, 4e-3, 1e-2]
        many = benchmark.Measurement(100, times, task)
        one = benchmark.Measurement(100, times[:1], task)
        facts = [many.median, many.mean, many.iqr, many.times, many.significant_figures, many.title, many.as_row_name]
        facts += [many.meets_confidence(), many.has_warnings, many.env, many.stmt, many.num_threads]
        texts = [re.sub(r"<.*>", "", repr(measured)) for measured in (many, one, *many.merge([many, many]))]
        return facts, texts, task.summarize(), task.setup_str()

    same(seen)


@pytest.mark.parametrize("trim", [False, True])
def test_tables_read_as_torchs(trim):
    def seen(L):
        benchmark = L.utils.benchmark
        results = []
        for row, sub_label in enumerate(KINDS[0]):
            for column, description in enumerate(KINDS[1]):
                task = benchmark.TaskSpec("x", "", "", "label", sub_label, description, None, 1 + row)
                results.append(benchmark.Measurement(10, [1e-3 * (1 + row + 7 * column)] * 3, task))
        table = benchmark.Compare(results)
        if trim:
            table.trim_significant_figures()
        return [line.rstrip() for line in str(table).splitlines()]

    same(seen)


@pytest.mark.parametrize("L", LIBRARIES, ids=lambda L: L.__name__)
def test_timing(L):
    benchmark = L.utils.benchmark
    timer = benchmark.Timer("x + y", setup="y = x", globals={"x": L.ones(2)}, label="sum", num_threads=2)
    threads = L.get_num_threads()
    measured = timer.timeit(20)
    assert (measured.number_per_run, len(measured.raw_times)) == (20, 1)
    assert measured.median > 0
    assert sum(timer.blocked_autorange(min_run_time=0.01).raw_times) >= 0.01
    assert sum(timer.adaptive_autorange(min_run_time=0.001, max_run_time=0.01).raw_times) >= 0.001
    assert L.get_num_threads() == threads
    assert benchmark.Timer("torch.ones(2)").timeit(2).median > 0
    assert numbers_out(repr(measured)) == "<>\nsum\nsetup: y = x\n T\n  1 measurement, 20 runs , 2 threads"


def test_small_functions():
    def seen(L):
        benchmark = L.utils.benchmark
        units = [benchmark.select_unit(t) for t in (5e-10, 2e-7, 3e-5, 0.004, 1.5, 100)]
        return (
            units,
            benchmark.unit_to_english("us"),
            benchmark.trim_sigfig(1234.5, 2),
            benchmark.ordered_unique([2, 1, 2]),
        )

    same(seen)
    same(lambda L: L.utils.benchmark.Timer(3))
    with pytest.raises(NotImplementedError, match="cannot be compiled here"):
        adjoint.utils.benchmark.Timer("x", language="c++")
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        adjoint.utils.benchmark.Compare([3])
    assert torch.utils.benchmark is not adjoint.utils.benchmark
