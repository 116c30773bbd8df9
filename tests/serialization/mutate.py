"""Loads thousands of mutated files: `python -m tests.serialization.mutate KIND SEED COUNT`.

Run in a process of its own, where memory and time are short. Ends with an error if some file leads to anything but a
value or an error with words, or if memory grew out of proportion to the files; what became of them is printed.
"""

import collections
import io
import itertools
import pickle
import pickletools
import random
import resource
import sys
import zipfile

import adjoint

from .objects import archive, checkpoint, saved, tensors, values

CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, TypeError)
MOST_MEMORY = 300 << 20  # above what importing takes; the files are of a few kilobytes


def pickles():
    """The pickles of some files, taken apart at their instructions, and their other records."""
    for obj in (checkpoint(adjoint), tensors(adjoint), values(adjoint)[:9]):
        with zipfile.ZipFile(io.BytesIO(saved(adjoint, obj))) as file:
            records = {name.removeprefix("archive/"): file.read(name) for name in file.namelist()}
        data = records.pop("data.pkl")
        places = [place for _, _, place in pickletools.genops(data)] + [len(data)]
        yield [data[begin:end] for begin, end in itertools.pairwise(places)], records


def flipped(rng, data):
    """Some bits of the bytes, changed."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut(rng, data):
    return data[: rng.randrange(len(data))]


def moved(rng, data):
    """A piece of the bytes, written over another place."""
    begin, place, size = rng.randrange(len(data)), rng.randrange(len(data)), rng.randrange(1, 64)
    return data[:place] + data[begin : begin + size] + data[place + size :]


def spliced(rng, parts, others):
    """Instructions left out, doubled, exchanged, or taken from another pickle."""
    parts = list(parts)
    for _ in range(rng.randrange(1, 6)):
        place, size = rng.randrange(1, len(parts) - 1), rng.choice((1, 1, 2, 10, 40))
        source, _ = rng.choice(others)
        begin = rng.randrange(1, len(source) - 1)
        piece = rng.choice(([], parts[place : place + size] * rng.choice((1, 2, 300)), source[begin : begin + size]))
        parts[place : place + rng.choice((0, size))] = piece
    return b"".join(parts[:-1]) + b"."


def file_of(rng, kind, sources):
    """One mutated file."""
    if kind == "spliced":
        parts, records = rng.choice(sources)
        return archive(spliced(rng, parts, sources), records)
    return rng.choice((flipped, flipped, cut, moved))(rng, rng.choice(sources))


def sources_of(kind):
    if kind == "spliced":
        return list(pickles())
    if kind == "safetensors":
        state = checkpoint(adjoint)["model"]
        return [adjoint.safetensors.save(state), adjoint.safetensors.save({"x": adjoint.ones(2, 0)})]
    legacy = {"zip": True, "legacy": False}[kind]
    objects = (checkpoint(adjoint), tensors(adjoint), values(adjoint)[:9])
    return [saved(adjoint, obj, _use_new_zipfile_serialization=legacy) for obj in objects]


def fate(kind, data):
    """What becomes of a file, in a word."""
    clear = CLEAR
    try:
        if kind == "safetensors":
            import safetensors

            clear = (*CLEAR, safetensors.SafetensorError)
            adjoint.safetensors.load(data)
        else:
            adjoint.load(io.BytesIO(data))
    except clear as error:
        return type(error).__name__ if str(error) else "an error without words"
    return "loaded"


def main(kind, seed, count):
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    rng, sources = random.Random(seed), sources_of(kind)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    outcomes = collections.Counter(fate(kind, file_of(rng, kind, sources)) for _ in range(count))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before
    assert grown < MOST_MEMORY, f"memory grew by {grown} bytes"
    print(dict(outcomes))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
