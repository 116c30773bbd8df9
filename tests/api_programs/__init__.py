"""A program for each name of the API in use: a function of the library that reads or calls the name."""

from . import distributions, modules, namespaces, operators, tensor

PROGRAMS = {}
for _family in (tensor, operators, modules, namespaces, distributions):
    _twice = PROGRAMS.keys() & _family.PROGRAMS.keys()
    assert not _twice, f"two programs for {sorted(_twice)}"
    PROGRAMS |= _family.PROGRAMS
