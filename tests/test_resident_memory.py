"""Resident memory: what goes back beside torch, what a loop finds again. In processes of their own."""

import json

import pytest

from .processes import python

MEGABYTE = 1 << 20
# What the library may keep beyond what a program asks for again.
SLACK = 64 * MEGABYTE

PRELUDE = """
import json, sys
torch = __import__(sys.argv[1])

def resident(field="VmRSS"):
    for line in open("/proc/self/status"):
        if line.startswith(field):
            return int(line.split()[1]) * 1024

torch.ones(300, 300) @ torch.ones(300, 300)  # threads and libraries are there
before = resident()
"""


def run(program, library="adjoint"):
    """What a program printed as JSON, in a process of its own; `before` is its resident memory at the beginning."""
    return json.loads(python("-W", "error", "-c", PRELUDE + program, library).stdout)


# ---- memory that is not asked for again


@pytest.fixture(scope="module")
def torchs():
    """What stays resident of a large tensor in torch."""
    return run("x = torch.ones(100_000_000)\ndel x\nprint(resident() - before)", "torch")


@pytest.mark.parametrize(
    "made",
    [
        "torch.ones(100_000_000)",
        "[torch.ones(5_000_000) for _ in range(20)]",
        "[torch.ones(250_000) for _ in range(400)]",
        "[torch.ones(100_000) * 2 for _ in range(500)]",
    ],
)
def test_what_is_used_once_goes_back(torchs, made):
    assert run(f"x = {made}\ndel x\nprint(resident() - before)") <= torchs + SLACK


@pytest.mark.parametrize(("count", "elements"), [(10_000, 8_000), (60_000, 1_000), (300_000, 200)])
def test_small_blocks_go_back_too(count, elements):
    program = f"x = [torch.ones({elements}) for _ in range({count})]\nx.clear()\nprint(resident() - before)"
    assert run(program) <= SLACK


def test_a_freed_graph_goes_back():
    program = """
x = torch.ones(4, requires_grad=True)
y = x
for _ in range(400_000):
    y = y * 1.0000001
grown = resident() - before
del y
print([grown, resident() - before])
"""
    grown, left = run(program)
    assert grown > 64 * MEGABYTE
    assert left < 32 * MEGABYTE


def test_a_working_set_of_many_sizes_stays_one_working_set():
    program = """
for k in range(8):
    n = int(400_000 * 1.37**k)
    for _ in range(3):
        x = [torch.ones(n) for _ in range(50_000_000 // n)]
        del x
print(resident("VmHWM") - before)
"""
    assert run(program) < 1.5 * 200_000_000 + SLACK


def test_a_set_of_which_parts_are_replaced_stays_one_set():
    program = """
import random
random.seed(0)
sizes = [int(20_000 * 1.9**k) for k in range(8)]
live, total, most = [], 0, 0
for _ in range(6000):
    live.append(torch.ones(random.choice(sizes)))
    total += live[-1].nbytes
    most = max(most, total)
    while total > 300_000_000:
        total -= live.pop(random.randrange(len(live))).nbytes
print([resident("VmHWM") - before, most])
"""
    peak, most = run(program)
    assert peak < 1.5 * most + SLACK


def test_shapes_that_vary_do_not_add_up():
    program = """
import random
random.seed(0)
def step():
    n, m = random.randrange(1, 300), random.randrange(1, 300)
    w = torch.ones(m, 64, requires_grad=True)
    (torch.ones(n, m) @ w).tanh().sum().backward()
    torch.fft.rfft(torch.ones(random.randrange(2, 3000)))
for _ in range(500):
    step()
early = resident()
for _ in range(3000):
    step()
print(resident() - early)
"""
    assert run(program) < 32 * MEGABYTE


# ---- memory that is asked for again


def test_a_steady_loop_finds_its_blocks_again():
    program = """
x, y = (torch.ones(2_000_000, requires_grad=True) for _ in range(2))
layers = torch.nn.Sequential(torch.nn.Linear(300, 700), torch.nn.Tanh(), torch.nn.Linear(700, 10))
optimizer = torch.optim.Adam(layers.parameters())
def step():
    x.grad = y.grad = None
    (x * y + x.exp()).sum().backward()
    optimizer.zero_grad()
    layers(torch.ones(500, 300)).square().sum().backward()
    optimizer.step()
for _ in range(4):
    step()
warm = torch.memory_stats()
for _ in range(20):
    step()
print([torch.memory_stats()[key] - warm[key] for key in ("fresh", "reused")])
"""
    fresh, reused = run(program)
    assert fresh == 0
    assert reused > 200


def test_sizes_serve_one_another():
    program = """
def step():
    for n in (20, 13, 29, 17, 20, 13):
        x = torch.ones(n * 1_000_000)
        del x
step()
step()
warm = torch.memory_stats()["fresh"]
step()
print(torch.memory_stats()["fresh"] - warm)
"""
    assert run(program) == 0


def test_an_idle_process_gives_back_what_its_loop_used():
    program = """
import time
for _ in range(5):
    x = torch.ones(50_000_000)
    del x
kept = torch.memory_stats()["cached"]
for _ in range(600):
    time.sleep(0.1)
    if torch.memory_stats()["cached"] < kept // 4:
        break
print([kept, torch.memory_stats()["cached"], resident() - before])
"""
    kept, cached, left = run(program)
    assert kept >= 200_000_000
    assert cached < SLACK
    assert left < SLACK


def test_a_forked_child_uses_and_returns_memory():
    program = """
import os
def work():
    for _ in range(5):
        x = torch.ones(30_000_000)
        del x
    return torch.ones(3_000_000).sum().item() == 3_000_000
work()
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, b"good" if work() else b"bad")
    os._exit(0)
os.close(write)
answer = os.read(read, 10).decode()
os.wait()
print(json.dumps([answer, work()]))
"""
    assert run(program) == ["good", True]


def test_empty_cache():
    program = """
for _ in range(3):
    x, y = torch.ones(40_000_000), [torch.ones(2_000) for _ in range(2_000)]
    del x, y
kept = torch.memory_stats()["cached"], resident() - before
torch.empty_cache()
print([*kept, torch.memory_stats()["cached"], resident() - before])
"""
    cached, grown, cached_after, grown_after = run(program)
    assert cached > 160_000_000
    assert grown > 160_000_000
    assert cached_after < 4 * MEGABYTE
    assert grown_after < 16 * MEGABYTE


# ---- limits


def test_kept_blocks_make_room_below_the_limit():
    program = """
torch.set_memory_limit(200_000_000)
worst = 0
for n in (30, 45, 20, 49, 10, 35) * 4:
    x = torch.ones(n * 1_000_000)
    del x
    worst = max(worst, torch.memory_stats()["cached"])
print([worst, resident("VmHWM") - before])
"""
    worst, peak = run(program)
    assert worst <= 200_000_000
    assert peak < 200_000_000 + SLACK


def test_the_limit_of_addresses():
    program = """
import resource
for line in open("/proc/self/status"):
    if line.startswith("VmSize"):
        size = int(line.split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (size + 500_000_000,) * 2)
for n in (50, 70, 30, 90, 60, 110, 40) * 3:
    x = torch.ones(n * 1_000_000)
    assert x[-1].item() == 1
    del x
try:
    torch.ones(150_000_000)
except RuntimeError as error:
    text = str(error)
print(json.dumps([text, torch.ones(110_000_000)[-1].item()]))
"""
    text, value = run(program)
    assert text.startswith("DefaultCPUAllocator: can't allocate memory: you tried to allocate 600000000 bytes; ")
    assert value == 1
