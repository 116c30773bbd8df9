"""Weights from an address: downloaded once, whole, checked against the hash in their name, kept in a folder, loaded.

Also models that a folder describes.
"""

import hashlib
import importlib
import os
import re
import shutil
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from urllib.parse import urlparse as urlparse

from . import serialization
from ._hub_models import help as help
from ._hub_models import list as list
from ._hub_models import load as load
from .serialization.atomic import replacement

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
READ_DATA_CHUNK = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the hash in a name such as resnet18-5c106cde.pth
MAX_RATIO = 100  # bytes that come out of one byte of a zip file; weights hardly shrink

_folder = None


def get_dir():
    """The folder of what was downloaded, PyTorch's own: that of set_dir(), or `hub` in $TORCH_HOME.

    >>> import adjoint as torch, os
    >>> os.path.basename(torch.hub.get_dir())
    'hub'
    """
    return _folder if _folder is not None else os.path.join(_get_torch_home(), "hub")


def _get_torch_home():
    """The folder of whatever torch keeps: $TORCH_HOME, or `torch` among the user's caches."""
    caches = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(caches, "torch")))


def set_dir(d):
    """Sets the folder of what is downloaded.

    >>> import adjoint as torch
    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("/tmp/weights")
    >>> torch.hub.get_dir()
    '/tmp/weights'
    >>> torch.hub.set_dir(before)
    """
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Writes what lies at an address to a file, whole or not at all; its SHA-256 must begin with `hash_prefix`.

    `progress` shows on a terminal how far it is.

    >>> import adjoint as torch, os, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("text")
    >>> torch.hub.download_url_to_file((folder / "a.txt").as_uri(), folder / "b.txt")
    >>> (folder / "b.txt").read_text()
    'text'
    """
    digest = hashlib.sha256()
    request = urllib.request.Request(url, headers={"User-Agent": "torch.hub"})
    with urllib.request.urlopen(request) as source, replacement(os.path.expanduser(dst)) as file:
        length = source.headers.get("Content-Length") or ""
        total, done = int(length) if length.isdecimal() else None, 0
        shown = progress and sys.stderr.isatty()
        while chunk := source.read(READ_DATA_CHUNK):
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            if shown:
                of_all = f" of {total / 1e6:.1f} MB, {done / total:.0%}" if total else " MB"
                print(f"\r{done / 1e6:.1f}{of_all}", end="", file=sys.stderr, flush=True)
        if shown:
            print(file=sys.stderr)
        if total is not None and done != total:
            raise RuntimeError(f"download_url_to_file: {url} has {total} bytes, but {done} came; try again")
        _check_hash(digest, hash_prefix)


def _check_hash(digest, prefix):
    if prefix is not None and not digest.hexdigest().startswith(prefix):
        raise RuntimeError(
            f'invalid hash value (expected "{prefix}", got "{digest.hexdigest()}"); '
            "the file is not what its name says: remove it and try again, or pass check_hash=False"
        )


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=True
):
    """What torch.save wrote to the file at an address; a file that was downloaded before is taken from the folder.

    Unlike PyTorch's, it reads nothing that could run code unless `weights_only=False` asks for that.

    >>> import adjoint as torch, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> torch.save(torch.nn.Linear(2, 1).state_dict(), folder / "linear.pth")
    >>> address = (folder / "linear.pth").as_uri()
    >>> state = torch.hub.load_state_dict_from_url(address, model_dir=folder / "here")  # doctest: +ELLIPSIS
    Downloading: "file:///...linear.pth" to ...
    >>> list(state)
    ['weight', 'bias']
    """
    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(urllib.parse.urlparse(url).path)
    if name in ("", ".", ".."):
        raise ValueError(f"load_state_dict_from_url: the address {url!r} names no file; pass file_name")
    path = os.path.join(model_dir, name)
    found = HASH_REGEX.search(name) if check_hash else None
    prefix = found and found.group(1)
    if not os.path.exists(path):
        print(f'Downloading: "{url}" to {path}')
        download_url_to_file(url, path, prefix, progress)
    elif prefix is not None:
        with open(path, "rb") as file:
            _check_hash(hashlib.file_digest(file, "sha256"), prefix)
    if not _is_zip_of_a_file(path):
        return serialization.load(path, map_location=map_location, weights_only=weights_only)
    with tempfile.TemporaryFile(dir=model_dir) as file:  # it has no name, and no other model's
        _unpack(path, file)
        return serialization.load(file, map_location=map_location, weights_only=weights_only)


def _is_zip_of_a_file(path):
    """Whether the file is an archive with one file in it; what save() writes is one with several, in a folder."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    return len(entries) == 1 and not entries[0].is_dir()


def _unpack(path, target):
    """Writes the one file in an archive to another file, if it is of the size that weights can have."""
    try:
        with zipfile.ZipFile(path) as archive:
            (entry,) = archive.infolist()
            if entry.file_size > MAX_RATIO * os.path.getsize(path):
                raise RuntimeError(
                    f"{path}: the file in this archive is more than {MAX_RATIO} times as large as the archive, which "
                    "weights are not; if it is to be trusted, unpack it and load() what is in it"
                )
            with archive.open(entry) as source:
                shutil.copyfileobj(source, target)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise RuntimeError(f"{path}: the archive is damaged ({error}); remove it and try again") from error
    target.seek(0)


def __getattr__(name):
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return importlib.import_module("tqdm").tqdm
    except ImportError:
        return importlib.import_module("._progress", __package__).tqdm
