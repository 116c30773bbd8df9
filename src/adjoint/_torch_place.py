"""Adjoint in the place of torch: `import torch`, in programs written for it, gives this package.

A finder of modules answers for `torch` and everything below it with the modules of this package, the same objects under
both names, and for the metadata of an installed torch. Names that are asked for and are not here are counted.
"""

import collections
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types

from . import version

PACKAGE = __package__
# Imported at once, so that their classes can be given torch's names before a program looks at them.
FAMILIES = ("nn", "optim", "optim.lr_scheduler", "utils.data", "autograd", "amp", "storage")

_missing: collections.Counter = collections.Counter()


def as_torch():
    """Puts Adjoint in the place of torch, for this process: whatever imports torch from here on gets Adjoint.

    Call it before anything imports torch. An installed torch is neither needed nor imported. torch.__version__ then is
    that of the PyTorch whose interface this is, with Adjoint's own behind it.

    After `adjoint.as_torch()`, `import torch` binds this package: `torch is adjoint`.

    >>> import subprocess, sys
    >>> program = "import adjoint; adjoint.as_torch(); import torch; print(torch is adjoint)"
    >>> print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
    True
    """
    package = sys.modules[PACKAGE]
    found = sys.modules.get("torch")
    if found is package:
        return
    if found is not None:
        raise ImportError(
            "as_torch(): torch itself is imported already, and its tensors may be in use; call as_torch() before "
            "anything that imports torch, or start the program by `python -m adjoint.run`"
        )
    sys.meta_path.insert(0, Finder())
    package.__version__ = version.__version__
    for family in FAMILIES:
        importlib.import_module(f"{PACKAGE}.{family}")
    package.torch = package  # `torch.torch.Tensor` is met
    package._C.__path__ = []  # so that modules in it are looked for
    importlib.import_module("torch")
    package.__name__ = "torch"  # packages compare it


def own_name(name):
    """The name here of a module of torch; those of its native core are in a folder of their own."""
    if name.startswith("functorch"):
        return f"{PACKAGE}._functorch.public{name.removeprefix('functorch')}"
    if name.startswith("torch._C."):
        return f"{PACKAGE}._native.{name.removeprefix('torch._C.')}"
    return PACKAGE + name.removeprefix("torch")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of torch in this package."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in ("torch", "functorch"):  # the second comes with the first
            return None
        name = own_name(fullname)
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
            _missing[fullname] += 1
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: Adjoint stands for torch here, and does not have it", name=fullname
            ) from None
        return importlib.machinery.ModuleSpec(fullname, Loader(), is_package=hasattr(sys.modules[name], "__path__"))

    def find_distributions(self, context):
        """The metadata of torch, which packages look at for its version."""
        if context.name and context.name.lower() == "torch":
            yield Distribution()


class Loader(importlib.abc.Loader):
    """Gives the module of this package, and leaves it as it is."""

    def create_module(self, spec):
        self.module = sys.modules[own_name(spec.name)]
        self.spec = self.module.__spec__
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec  # the import system has put another one there
        adopt()


class Distribution(importlib.metadata.Distribution):
    """What the metadata of torch says, as far as packages ask."""

    def read_text(self, filename):
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {version.__version__}\n"
        return None

    def locate_file(self, path):
        return path


def adopt():
    """Gives the modules of this package that are loaded, and their public classes, the manners of torch's."""
    for name, module in list(sys.modules.items()):
        if name == PACKAGE or name.startswith(f"{PACKAGE}."):
            count_missing(module)
            rename_classes(module)


def count_missing(module):
    """Lets a module count the names that it is asked for and does not have."""
    before = vars(module).get("__getattr__")
    if getattr(before, "counts", False):
        return
    shown = "torch" + module.__name__.removeprefix(PACKAGE)

    def get(name):
        if before is not None:
            with contextlib.suppress(AttributeError):
                value = before(name)
                if isinstance(value, types.ModuleType):
                    adopt()
                return value
        if not name.startswith("__"):
            _missing[f"{shown}.{name}"] += 1
        raise AttributeError(f"module {shown!r} has no attribute {name!r}")

    get.counts = True
    module.__getattr__ = get


def rename_classes(module):
    for value in vars(module).copy().values():
        if not isinstance(value, type):
            continue
        home = value.__module__  # that of a type whose instances say theirs is no text
        if isinstance(home, str) and (home == PACKAGE or home.startswith(f"{PACKAGE}.")):
            with contextlib.suppress(TypeError):  # a type of the extension that cannot be changed
                value.__module__ = "torch" + home.removeprefix(PACKAGE)


def report():
    """The names that were asked for and are not here, the most frequent first, as a text."""
    if not _missing:
        return "Nothing was asked of torch that Adjoint does not have."
    lines = [f"{count:6d}  {name}" for name, count in _missing.most_common()]
    return "\n".join(["Asked for and missing:", *lines])
