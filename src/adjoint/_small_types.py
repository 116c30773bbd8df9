"""Names of element types that no tensor here has, which tables of programs mention: quantized and packed numbers."""


class _Named:
    """The name of an element type; no tensor can be made with it."""

    is_floating_point = is_complex = False

    def __init__(self, name, itemsize=1):
        self._name, self.itemsize = name, itemsize

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


qint8, quint8, qint32 = _Named("qint8"), _Named("quint8"), _Named("qint32", 4)
quint4x2, quint2x4 = _Named("quint4x2"), _Named("quint2x4")
bits1x8, bits2x4, bits4x2 = _Named("bits1x8"), _Named("bits2x4"), _Named("bits4x2")
bits8, bits16 = _Named("bits8"), _Named("bits16", 2)
int1, int2, int3, int4, int5, int6, int7 = (_Named(f"int{bits}") for bits in range(1, 8))
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (_Named(f"uint{bits}") for bits in range(1, 8))
