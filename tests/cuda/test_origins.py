"""Errors that come later name the op and the line of the program: wrong indices, and memory that runs out."""

import inspect
import re
from pathlib import Path

import pytest

import adjoint as torch

HERE = re.escape(str(Path(__file__)))


def line_of(function, text):
    """The number of the line of a function that has this text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def cuda(*values, **options):
    return torch.tensor(values, device="cuda", **options)


# A call that finds something wrong, and the op that is to be named.
WRONG = {
    "index": lambda: cuda(1.0, 2.0)[cuda(7)],
    "gather": lambda: cuda(1.0, 2.0).gather(0, cuda(7)),
    "index_put": lambda: cuda(1.0, 2.0).index_put_((cuda(7),), cuda(1.0)),
    "index_add": lambda: cuda(1.0, 2.0).index_add(0, cuda(7), cuda(1.0)),
    "embedding": lambda: torch.nn.functional.embedding(cuda(7), torch.ones(3, 2, device="cuda")),
    "embedding_bag": lambda: torch.nn.functional.embedding_bag(cuda([7]), torch.ones(3, 2, device="cuda")),
    "cross_entropy": lambda: torch.nn.functional.cross_entropy(torch.ones(1, 3, device="cuda"), cuda(7)),
    "bernoulli": lambda: torch.bernoulli(cuda(2.0)),
    "poisson": lambda: torch.poisson(cuda(-2.0)),
}


@pytest.mark.parametrize("op", WRONG)
def test_a_wrong_value_is_found_in_an_op_at_a_line(op):
    WRONG[op]()
    with pytest.raises(
        (IndexError, RuntimeError), match=rf"; the GPU found it in {op}, called at {HERE}:\d+ in <lambda>$"
    ):
        torch.cuda.synchronize()


def test_the_line_is_that_of_the_call_and_not_of_the_wait():
    def look(table, index):
        return table[index]

    found = look(cuda(1.0, 2.0), cuda(5))
    (found + 1).exp().sum()
    line = line_of(look, "return")
    with pytest.raises(IndexError, match=rf"index 5 is out of bounds .* in index, called at {HERE}:{line} in look$"):
        found.tolist()


def test_the_line_is_known_without_the_interpreters_lock():
    """Which large operations give up."""
    many = torch.full((1 << 18,), 9, device="cuda")
    cuda(1.0, 2.0).index_select(0, many)
    with pytest.raises(IndexError, match=rf"in index_select, called at {HERE}:\d+ in test_the_line_is_known_without"):
        torch.cuda.synchronize()


def test_a_graph_knows_the_line_that_was_captured():
    table, index = cuda(1.0, 2.0), cuda(0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        table[index]
    index.fill_(6)
    graph.replay()
    line = line_of(test_a_graph_knows_the_line_that_was_captured, "table[index]")
    with pytest.raises(IndexError, match=rf"in index, called at {HERE}:{line} in test_a_graph_knows"):
        torch.cuda.synchronize()


def test_a_rule_of_the_program_has_lines_too():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g[cuda(3)]

    x = cuda(1.0, requires_grad=True)
    Wrong.apply(x).backward()
    with pytest.raises(IndexError, match=rf"index 3 is out of bounds .* in index, called at {HERE}:\d+ in backward$"):
        torch.cuda.synchronize()


@pytest.fixture
def little_memory():
    """A device of 200 MiB beside what others hold."""
    torch.cuda.empty_cache()
    most, total = torch.cuda.memory_reserved() + (200 << 20), torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction(most / total)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)


def test_running_out_of_memory_names_the_lines_that_hold_it(little_memory):
    def large():
        return torch.empty(60 << 20, dtype=torch.uint8, device="cuda")

    def middle():
        return [torch.zeros(8 << 20, dtype=torch.uint8, device="cuda") + 1 for _ in range(3)]

    kept = [large(), *middle(), torch.ones(3, device="cuda")]
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(150 << 20, dtype=torch.uint8, device="cuda")
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("What holds memory, and which line made it:")
    assert f"  60.00 MiB in 1 block: {__file__}:{line_of(large, 'empty')} in large" in lines
    by_middle = [line for line in lines if line.endswith((" in <listcomp>", " in middle"))]
    assert [line.partition(":")[0] for line in by_middle] == ["  24.00 MiB in 3 blocks"]
    assert re.search(r" blocks?: of 1 MiB and less, or made by no line of Python$", lines[-1])
    sizes = [float(line.split()[0]) for line in lines[1:-1] if "MiB" in line]
    assert sizes == sorted(sizes, reverse=True)
    assert len(kept) == 5


def test_a_snapshot_has_the_lines():
    def large():
        return torch.empty(2 << 20, dtype=torch.uint8, device="cuda")

    kept = large()
    blocks = [block for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
    (block,) = [block for block in blocks if block["address"] == kept.data_ptr()]
    assert block["frames"] == [{"filename": __file__, "line": line_of(large, "empty"), "name": "large"}]
    del kept
    assert all(block["frames"] == [] for block in blocks if block["state"] == "inactive")
