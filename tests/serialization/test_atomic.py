"""Writing replaces a file whole: after a kill at any moment, an error or a race, the old or the new one is there."""

import errno
import os
import signal
import stat
import threading
import tracemalloc

import pytest

import adjoint
from adjoint.serialization import atomic

from .kill import check, in_child, kill_many, state


def test_kills_at_random_moments(tmp_path):
    new, left_over = kill_many(20, tmp_path)
    assert new
    assert left_over <= 1


CALLS = [(os, "mkdir"), (os, "open"), (os, "fchmod"), (os, "fsync"), (os, "replace"), (os, "unlink"), (os, "rmdir")]


def test_a_kill_before_and_after_every_step(tmp_path, monkeypatch):
    """Each call that changes something on the disk, killed right before it and right after it."""
    path = tmp_path / "state.pt"
    adjoint.save(state(1), path)

    def save_and_die(moment):
        passed = 0

        def deadly(function):
            def call(*arguments, **options):
                nonlocal passed
                for step in ("before", "after"):
                    passed += 1
                    if passed == moment:
                        os.kill(os.getpid(), signal.SIGKILL)
                    if step == "before":
                        result = function(*arguments, **options)
                return result

            return call

        for module, name in CALLS:
            monkeypatch.setattr(module, name, deadly(getattr(module, name)))
        adjoint.save(state(2), path)

    found = []
    for moment in range(1, 100):
        _, status = os.waitpid(in_child(save_and_die, moment), 0)
        found.append(check(path))
        if not os.WIFSIGNALED(status):
            break
        adjoint.save(state(1), path)
        assert os.listdir(tmp_path) == ["state.pt"]
    assert 10 < len(found) < 99
    # One moment makes the new file visible, and from then on it is there.
    assert found == sorted(found)
    assert set(found) == {1, 2}


def test_an_error_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x"
    adjoint.save("old", path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(OSError, match="No space left"):
                adjoint.save("new", path)
        assert adjoint.load(path) == "old"
        assert os.listdir(tmp_path) == ["x"]
    with pytest.raises(ZeroDivisionError), atomic.replacement(path) as file:
        file.write(b"half") / 0
    assert adjoint.load(path) == "old"
    assert os.listdir(tmp_path) == ["x"]


def test_rights_are_those_that_open_gives(tmp_path):
    for mask in (0o022, 0o077, 0o000):
        before = os.umask(mask)
        try:
            adjoint.save(1, tmp_path / f"saved{mask}")
            (tmp_path / f"opened{mask}").write_bytes(b"")
        finally:
            os.umask(before)
        saved, opened = (stat.S_IMODE(os.stat(tmp_path / f"{name}{mask}").st_mode) for name in ("saved", "opened"))
        assert saved == opened
    path = tmp_path / "saved0"
    path.chmod(0o640)
    adjoint.save(2, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_links_stay_links(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    for value in (1, 2):
        adjoint.save(value, link)
        assert link.is_symlink()
        assert adjoint.load(tmp_path / "there" / "file") == value
    assert os.listdir(tmp_path / "there") == ["file"]


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adjoint.save(1, "x.pt")
    assert os.listdir() == ["x.pt"]


def test_a_folder_in_the_place_of_the_file(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(IsADirectoryError):
        adjoint.save(1, tmp_path / "x")
    assert os.listdir(tmp_path) == ["x"]


def test_what_killed_writers_left_is_removed_and_what_living_ones_write_is_not(tmp_path):
    path = tmp_path / "x"
    with atomic.replacement(path) as file:
        abandoned = tmp_path / (atomic.PREFIX + "0123")
        abandoned.mkdir()
        (abandoned / "new").write_bytes(b"half")
        (tmp_path / (atomic.PREFIX + "file")).write_bytes(b"not a folder, not ours")
        adjoint.save("other", tmp_path / "other")
        assert not abandoned.exists()
        assert len([name for name in os.listdir(tmp_path) if name.startswith(atomic.PREFIX)]) == 2
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert sorted(os.listdir(tmp_path)) == [atomic.PREFIX + "file", "other", "x"]


def test_many_writers_of_one_file(tmp_path):
    path = tmp_path / "x"
    errors = []

    def write(number):
        try:
            for _ in range(5):
                adjoint.save(state(number), path)
                check(path)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert os.listdir(tmp_path) == ["x"]


def test_values_that_change_while_they_are_saved(tmp_path):
    """Another thread trains on: the file has some of the values, but it is whole."""
    x = adjoint.zeros(1 << 20)
    stop = threading.Event()

    def train():
        while not stop.is_set():
            x.add_(1)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for _ in range(5):
            adjoint.save(x, tmp_path / "x")
            adjoint.load(tmp_path / "x")
    finally:
        stop.set()
        thread.join()


def test_saving_takes_no_second_copy_of_the_values(tmp_path):
    x = adjoint.zeros(1 << 22)
    for target in (tmp_path / "x", open(os.devnull, "wb")):  # noqa: SIM115 - stays open for the loop
        adjoint.reset_peak_memory_stats()
        before = adjoint.memory_stats()["current"]
        tracemalloc.start()
        adjoint.save({"x": x, "t": x.view(2, -1).t()}, target)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 << 20
        assert adjoint.memory_stats()["peak"] == before
    target.close()
