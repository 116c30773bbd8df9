"""The memory of tensors: figures, limits that programs and containers set, and blocks that do not overlap."""

import numpy as np
import pytest

import adjoint


def test_blocks_are_aligned_and_apart():
    sizes = [1025, 5_000, 65_536, 65_537, 70_001, 1_000_003, 2_097_152, 5_000_000]
    blocks = [adjoint.empty(n, dtype=adjoint.uint8) for n in sizes * 3]
    for i, block in enumerate(blocks):
        assert block.data_ptr() % 64 == 0
        block.fill_(i)
    del blocks[::2]
    blocks += [adjoint.full((n,), 100 + i, dtype=adjoint.uint8) for i, n in enumerate(reversed(sizes))]
    values = [*range(1, len(sizes) * 3, 2), *range(100, 100 + len(sizes))]
    assert [(block.min().item(), block.max().item()) for block in blocks] == [(v, v) for v in values]


# ---- figures


def test_stats_follow_tensors():
    before = adjoint.memory_stats()
    assert list(before) == ["current", "peak", "cached", "fresh", "reused", "limit"]
    x = adjoint.zeros(1_000_000)
    assert adjoint.memory_stats()["current"] - before["current"] == 4_000_000
    view = x[5:]
    del x
    assert adjoint.memory_stats()["current"] - before["current"] == 4_000_000
    del view
    after = adjoint.memory_stats()
    assert after["current"] == before["current"]
    assert after["peak"] >= before["current"] + 4_000_000
    adjoint.reset_peak_memory_stats()
    assert adjoint.memory_stats()["peak"] == before["current"]


def test_memory_of_others_is_not_counted():
    before = adjoint.memory_stats()["current"]
    kept = adjoint.from_numpy(np.zeros(100_000))
    assert adjoint.memory_stats()["current"] == before
    assert kept.shape == (100_000,)


# ---- limits


@pytest.fixture
def limit():
    """Sets the limit to so many bytes beyond what tensors hold now."""
    yield lambda more: adjoint.set_memory_limit(adjoint.memory_stats()["current"] + more)
    adjoint.set_memory_limit(None)


@pytest.mark.parametrize("n", [4, 1000, 1024, 1028, 100_000, 40_000_000])
def test_the_limit_is_exact(limit, n):
    limit(n)
    x = adjoint.zeros(n // 4)
    held = adjoint.memory_stats()["current"]
    message = (
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes; live tensors hold {held} bytes "
        f"and may hold {held}, by set_memory_limit; free tensors that are not needed, use smaller ones, or raise the "
        "limit"
    )
    with pytest.raises(RuntimeError) as caught:
        adjoint.zeros(1)
    assert str(caught.value) == message
    assert adjoint.memory_stats()["current"] == held
    del x
    assert adjoint.zeros(n // 4).shape == (n // 4,)


def test_a_limit_below_what_is_held(limit):
    x = adjoint.ones(1000)
    limit(-2000)
    with pytest.raises(RuntimeError, match="you tried to allocate 4000 bytes"):
        x + 1
    x.add_(1)
    adjoint.set_memory_limit(None)
    assert adjoint.memory_stats()["limit"] == adjoint._C._container_memory("")
    assert (x + 1)[0].item() == 3


@pytest.mark.parametrize("bytes", ["a", 1.5, True, [1]])
def test_a_limit_is_a_number_of_bytes(bytes):
    with pytest.raises(TypeError, match=r"set_memory_limit\(\): argument 'bytes' must be int"):
        adjoint.set_memory_limit(bytes)


def test_a_limit_is_not_negative():
    with pytest.raises(ValueError, match="expected a number of bytes, 0 or more; got -1; None takes the limit away"):
        adjoint.set_memory_limit(-1)
    with pytest.raises(ValueError, match="must fit in 64 bits"):
        adjoint.set_memory_limit(1 << 64)


def test_too_much_for_the_machine():
    held = adjoint.memory_stats()["current"]
    with pytest.raises(RuntimeError, match=f"tried to allocate {1 << 46} bytes; live tensors hold {held} bytes; free"):
        adjoint.empty(1 << 44)
    with pytest.raises(RuntimeError, match=f"tried to allocate {1 << 50} bytes"):
        adjoint.empty(1 << 48)
    assert adjoint.memory_stats()["current"] == held


# Lines of /proc/self/cgroup and /proc/self/mountinfo, files below the mounts, and the limit that they make.
V1 = "36 31 0:33 {top} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
V2 = "30 23 0:26 {top} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate\n"
NONE = 9223372036854771712
CONTAINERS = {
    "no groups": ("", "", {}, None),
    "version 2": ("0::/a\n", V2.format(top="/"), {"a/memory.max": 5000}, 5000),
    "version 2, no limit": ("0::/a\n", V2.format(top="/"), {"a/memory.max": "max", "memory.max": "max"}, None),
    "version 2, the group outside is stricter": (
        "0::/a/b/c\n",
        V2.format(top="/"),
        {"a/memory.max": 3000, "a/b/memory.max": "max", "a/b/c/memory.max": 5000},
        3000,
    ),
    "version 2, the group inside is stricter": (
        "0::/a/b\n",
        V2.format(top="/"),
        {"a/memory.max": 3000, "a/b/memory.max": 2000},
        2000,
    ),
    "version 2, inside a container": ("0::/\n", V2.format(top="/"), {"memory.max": 7000}, 7000),
    "version 2, outside of what is seen": ("0::/../other\n", V2.format(top="/"), {"memory.max": 7000}, 7000),
    "version 1": (
        "5:cpu,cpuacct:/x\n4:memory:/a\n",
        V1.format(top="/"),
        {"memory/a/memory.limit_in_bytes": 4096, "memory/memory.limit_in_bytes": NONE},
        4096,
    ),
    "version 1, nested": (
        "4:hugetlb,memory:/a/b\n",
        V1.format(top="/"),
        {"memory/a/b/memory.limit_in_bytes": NONE, "memory/a/memory.limit_in_bytes": 8192},
        8192,
    ),
    "version 1, no limit": ("4:memory:/\n", V1.format(top="/"), {"memory/memory.limit_in_bytes": NONE}, None),
    "version 1, of which a part is mounted": (
        "4:memory:/docker/one/in\n",
        V1.format(top="/docker/one"),
        {"memory/memory.limit_in_bytes": 9000, "memory/in/memory.limit_in_bytes": 9500},
        9000,
    ),
    "version 1, of which another part is mounted": (
        "4:memory:/docker/one\n",
        V1.format(top="/docker/two"),
        {"memory/memory.limit_in_bytes": 9000},
        9000,
    ),
    "both": (
        "4:memory:/a\n0::/\n",
        V1.format(top="/") + V2.format(top="/").replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
        {"memory/a/memory.limit_in_bytes": 6000},
        6000,
    ),
    "spoilt": ("0:/a\nx\n\n:::\n", "1 2\n - cgroup2\n", {"memory.max": "many"}, None),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_limits_of_containers(tmp_path, name):
    groups, mounts, files, expected = CONTAINERS[name]
    process = tmp_path / "proc/self"
    process.mkdir(parents=True)
    (process / "cgroup").write_text(groups)
    (process / "mountinfo").write_text("23 1 0:21 / /sys rw - sysfs sysfs rw\n" + mounts)
    for path, value in files.items():
        file = tmp_path / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    assert adjoint._C._container_memory(str(tmp_path)) == expected
