"""Before a compiler (CMAKE_CXX_COMPILER_LAUNCHER): takes objects from the build of another tree while nothing differs.

    python reuse_objects.py NOTES COMPILER ...

NOTES is a folder that `note` has written. An object is taken if its command is the same but for the place of the tree,
and so is every file of the tree that went into it. Ninja does this within one folder; a moved one it builds anew.
"""

import filecmp
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path


def options(command):
    """What is asked of the compiler, without its name and those of launchers."""
    return command[next(i for i, part in enumerate(command) if part.startswith("-")) :]


def after(command, option):
    return command[command.index(option) + 1]


def note(build, source, other_build, other_source, notes):
    """Writes down, for each object of a build, the command and the files that it is made from in another tree."""

    def moved(text):
        return text.replace(str(build), str(other_build)).replace(str(source), str(other_source))

    def asked(tool):
        return subprocess.run(["ninja", "-C", build, "-t", tool], capture_output=True, text=True, check=True).stdout

    lines = asked("commands").splitlines()
    commands = [shlex.split(line) for line in lines if " -MF " in line and " -o " in line]
    commands = {after(command, "-o"): [moved(part) for part in options(command)] for command in commands}
    for entry in asked("deps").split("\n\n"):
        head, *paths = entry.split("\n    ")
        name = head.partition(":")[0].strip()
        if name in commands:
            paths = [os.path.normpath(build / path.strip()) for path in paths]
            files = [(path, moved(path)) for path in paths if moved(path) != path]
            text = json.dumps({"object": str(build / name), "command": commands[name], "files": files})
            (notes / name.replace("/", "+")).write_text(text)


def reused(notes, command):
    """Puts a noted object in its place; False if it is none, or would differ."""
    target = after(command, "-o")
    path = notes / target.replace("/", "+")
    if not path.exists():
        return False
    noted = json.loads(path.read_text())
    if options(command) != noted["command"]:
        return False
    if not all(os.path.exists(new) and filecmp.cmp(old, new, shallow=False) for old, new in noted["files"]):
        return False
    shutil.copyfile(noted["object"], target)
    Path(after(command, "-MF")).write_text(f"{target}: {' '.join(new for _, new in noted['files'])}\n")
    return True


if __name__ == "__main__":
    if not reused(Path(sys.argv[1]), sys.argv[2:]):
        os.execvp(sys.argv[2], sys.argv[2:])
