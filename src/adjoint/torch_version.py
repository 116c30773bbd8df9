"""Versions that compare as versions do, with strings and tuples of numbers."""


def _key(version):
    """What to compare: the numbers, then whether it is a release; what follows a + does not count."""
    if isinstance(version, tuple | list):
        version = ".".join(str(part) for part in version)
    text = str(version).partition("+")[0].strip().lower().removeprefix("v")
    numbers, rest = [], ""
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            rest = part
            break
        numbers.append(int(digits))
        rest = part[len(digits) :]
        if rest:
            break
    if not numbers:
        raise ValueError(f"Invalid version: '{version}'")
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers, rest == "" or rest.startswith("post"), rest


class TorchVersion(str):
    """A version: text that compares by its numbers.

    >>> from adjoint.torch_version import TorchVersion
    >>> TorchVersion("2.13.0+cpu") > "2.9", TorchVersion("2.0.0a1") < (2, 0)
    (True, True)
    """

    __slots__ = ()

    def _compare(self, other, ordered):
        try:
            return ordered(_key(self), _key(other))
        except ValueError:  # not a version: as text
            return ordered(str(self), str(other))

    def __gt__(self, other):
        return self._compare(other, lambda a, b: a > b)

    def __lt__(self, other):
        return self._compare(other, lambda a, b: a < b)

    def __ge__(self, other):
        return self._compare(other, lambda a, b: a >= b)

    def __le__(self, other):
        return self._compare(other, lambda a, b: a <= b)

    def __eq__(self, other):
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
