"""Files that are replaced whole: a kill at any moment leaves the old one or the new one.

The new file is written in a folder of its own beside the old one, reaches the disk, and then takes the old one's name.
The writer holds a lock on that folder. A killed writer leaves its folder behind, but no lock: the next save to the same
place sees that nobody holds it, and removes it.
"""

import contextlib
import fcntl
import os
import stat

PREFIX = ".adjoint-save-"


@contextlib.contextmanager
def replacement(path):
    """A binary file that takes the place of `path` when the block ends well; else nothing has changed.

    >>> import os, tempfile
    >>> from adjoint.serialization.atomic import replacement
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> with replacement(path) as file:
    ...     _ = file.write(b"whole")
    >>> os.listdir(os.path.dirname(path))
    ['x']
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:  # a device or a pipe cannot be replaced; a folder raises as open() does
            yield file
        return
    with replacement_path(path) as new, open(new, "wb") as file:
        yield file


@contextlib.contextmanager
def replacement_path(path):
    """The name of a file, still to be written, that takes the place of `path` when the block ends well.

    >>> import os, tempfile
    >>> from adjoint.serialization.atomic import replacement_path
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> with replacement_path(path) as new:
    ...     open(new, "w").close()
    >>> os.listdir(os.path.dirname(path))
    ['x']
    """
    path = os.path.realpath(path)  # as open() does: a link stays, and what it names is written
    if os.path.exists(path):
        open(path, "r+b").close()  # raises where open() would: no right to write, or not a file
    folder = os.path.dirname(path)
    _remove_abandoned(folder)
    lock, own = _make_folder(folder)
    try:
        new = os.path.join(own, "new")
        yield new
        _finish(new, path, mode=os.fstat(lock).st_mode & 0o666)
        os.replace(new, path)
    finally:
        _remove(own)
        os.close(lock)
    _sync(folder)


def _make_folder(folder):
    """A new folder, locked as long as this process lives; (descriptor, path)."""
    while True:
        path = os.path.join(folder, PREFIX + os.urandom(8).hex())
        os.mkdir(path)
        # Before the lock is taken, somebody may remove the folder as abandoned: then there is no such file, or no such
        # name, and the next folder is tried.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with contextlib.suppress(OSError):  # some network file systems have no locks; then nobody removes, either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.exists(path):
                return descriptor, path
            os.close(descriptor)


def _remove_abandoned(folder):
    """Removes the folders of killed writers: those that nobody holds the lock of."""
    with os.scandir(folder) as entries:
        found = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    for path in found:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(descriptor)


def _remove(own):
    for name in os.listdir(own):
        os.unlink(os.path.join(own, name))
    os.rmdir(own)


def _finish(new, path, mode):
    """Gives the new file the owner and the rights that open() would leave at `path`, and puts it on the disk."""
    descriptor = os.open(new, os.O_RDWR | os.O_CLOEXEC)
    try:
        with contextlib.suppress(FileNotFoundError):
            old = os.stat(path)
            mode = stat.S_IMODE(old.st_mode)
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder):
    """Puts the new name on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
