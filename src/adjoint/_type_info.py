"""The limits of element types: finfo and iinfo."""

from . import _C

# name -> (bits of the mantissa, largest and smallest exponent of a normal number, decimal digits)
_FLOATS = {
    "float16": (10, 15, -14, 3),
    "bfloat16": (7, 127, -126, 2),
    "float32": (23, 127, -126, 6),
    "float64": (52, 1023, -1022, 15),
}
# Types of 8 bits: (largest, smallest, eps, smallest normal number)
_FLOAT8 = {
    "float8_e4m3fn": (448.0, -448.0, 0.125, 2.0**-6),
    "float8_e4m3fnuz": (240.0, -240.0, 0.125, 2.0**-7),
    "float8_e5m2": (57344.0, -57344.0, 0.25, 2.0**-14),
    "float8_e5m2fnuz": (57344.0, -57344.0, 0.125, 2.0**-15),
    "float8_e8m0fnu": (2.0**127, 2.0**-127, 1.0, 2.0**-127),
}


def _name(function, type):
    if not isinstance(type, _C.dtype):
        got = type.__class__.__name__
        raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {got}")
    return str(type).removeprefix("torch.")


class _Info:
    """What finfo and iinfo have in common: they are compared by type."""

    def __eq__(self, other):
        return self.__class__ is other.__class__ and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class finfo(_Info):
    """The limits of a float type; of the real type for a complex one.

    >>> import adjoint as torch
    >>> torch.finfo(torch.float16).max
    65504.0
    """

    def __init__(self, type=None):
        type = _C.get_default_dtype() if type is None else type
        _name("finfo", type)
        if not type.is_floating_point and not type.is_complex:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo for {type}")
        real = type.to_real() if type.is_complex else type
        self.dtype = _name("finfo", real)
        self.bits = real.itemsize * 8
        if self.dtype in _FLOAT8:
            self.max, self.min, self.eps, self.tiny = _FLOAT8[self.dtype]
            self.resolution = 1.0
        else:
            mantissa, highest, lowest, digits = _FLOATS[self.dtype]
            self.eps = 2.0**-mantissa
            self.max = (2.0 - 2.0**-mantissa) * 2.0**highest
            self.min = -self.max
            self.tiny = 2.0**lowest
            self.resolution = float(f"1e-{digits}")
        self.smallest_normal = self.tiny

    def __repr__(self):
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in names)}, dtype={self.dtype})"


class iinfo(_Info):
    """The limits of an integer type.

    >>> import adjoint as torch
    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type):
        self.dtype = _name("iinfo", type)
        if self.dtype == "bool":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo for {type}")
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
