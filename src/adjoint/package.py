"""torch.package: its names, so that programs import them; writing and reading packages of code refuses."""

from ._absent import refusing_type

ADVICE = "packages of code are neither written nor read here; save weights by torch.save(module.state_dict(), f)"

for _name in (
    *("Directory", "GlobGroup", "Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter"),
    *("PackageExporter", "PackageImporter"),
):
    globals()[_name] = refusing_type("package", _name, ADVICE)


class PackagingError(ValueError):
    """An error of writing a package."""


class EmptyMatchError(Exception):
    """A pattern that no module has matched."""


def is_from_package(obj):
    """Whether an object was read from a package of code: no.

    >>> import adjoint as torch
    >>> from adjoint.package import is_from_package
    >>> is_from_package(3)
    False
    """
    return False


sys_importer = None
