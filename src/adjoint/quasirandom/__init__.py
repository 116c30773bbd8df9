"""Quasi-random numbers: points that fill the unit cube more evenly than random ones."""

from .. import _C
from ..ops.language import arange, cat, randint, zeros, zeros_like
from . import directions as _directions

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws the points of a Sobol sequence, as torch does; `scramble` shuffles their digits at random.

    The scrambling multiplies the digits of every coordinate by a random lower triangular matrix and adds a random
    shift, both drawn with `seed`, or with the default generator. The same seed gives torch's points.

    >>> import adjoint as torch
    >>> engine = torch.quasirandom.SobolEngine(dimension=2)
    >>> engine.draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = _directions.BITS
    MAXDIM = _directions.MOST

    def __init__(self, dimension, scramble=False, seed=None):
        if not isinstance(dimension, int) or isinstance(dimension, bool):
            raise TypeError(f"SobolEngine: expected the dimension as an int; got {type(dimension).__name__}")
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = _directions.direction_numbers(dimension)
        self.shift = zeros(dimension, dtype=_C.int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self):
        generator = None
        if self.seed is not None:
            generator = _C.Generator()
            generator.manual_seed(self.seed)
        count, bits = self.dimension, self.MAXBIT
        # Digits of the shift, the lowest first; matrices, of which the lower triangle counts.
        options = {"generator": generator, "device": "cpu"}
        self.shift = (randint(2, (count, bits), **options) << arange(bits, device="cpu")).sum(1)
        matrices = randint(2, (count, bits, bits), **options)
        places = arange(bits, device="cpu")
        below = places[:, None] > places
        # A column of a matrix as one number, the highest digit first, with the 1 on the diagonal.
        columns = ((matrices * below + (places[:, None] == places)) << (bits - 1 - places)[:, None]).sum(1)
        scrambled = zeros_like(self.sobolstate)
        for place in range(bits):
            digit = self.sobolstate >> (bits - 1 - place) & 1
            scrambled ^= digit * columns[:, place, None]
        self.sobolstate = scrambled

    def _state(self, index):
        """The point of an index, as integers."""
        gray, state = index ^ index >> 1, self.shift.clone()
        for bit in range(self.MAXBIT):
            if gray >> bit & 1:
                state ^= self.sobolstate[:, bit]
        return state

    def _block(self, bits):
        """The first 2^bits points without their shift, as integers: (points, dimension)."""
        points = zeros(1, self.dimension, dtype=_C.int64, device="cpu")
        for bit in range(bits):
            # The Gray code of i + 2^bit is that of i with this bit and the one below it turned.
            turned = self.sobolstate[:, bit]
            points = cat([points, points ^ (turned ^ self.sobolstate[:, bit - 1] if bit else turned)])
        return points

    def _points(self, n):
        """The next n points, as integers."""
        begin = self.num_generated
        if n == 1:  # the Gray codes of neighbours differ in one bit
            bit = (begin & -begin).bit_length() - 1
            return (self.quasi ^ self.sobolstate[:, bit] if begin else self.quasi).reshape(1, -1)
        bits = max(n - 1, 0).bit_length()
        block, size = self._block(bits), 1 << bits
        # They lie in one block of this size or in two: points of a block differ by one number from those of the first.
        parts = []
        for number in range(begin // size, (begin + n - 1) // size + 1):
            first, last = max(begin - number * size, 0), min(begin + n - number * size, size)
            parts.append(block[first:last] ^ self._state(number * size))
        return parts[0] if len(parts) == 1 else cat(parts)

    def draw(self, n=1, out=None, dtype=None):
        """The next n points: a tensor of (n, dimension).

        >>> import adjoint as torch
        >>> torch.quasirandom.SobolEngine(2, scramble=True, seed=0).draw(2, dtype=torch.float64)
        tensor([[0.4751, 0.5925],
                [0.5788, 0.0371]], dtype=torch.float64)
        """
        dtype = _C.get_default_dtype() if dtype is None else dtype
        self._check_number("draw", n)
        if dtype not in (_C.float32, _C.float64):
            name = _C.empty(0, dtype=dtype).type()[len("torch.") : -len("Tensor")]
            raise NotImplementedError(
                f"\"_sobol_engine_draw\" not implemented for '{name}'; draw torch.float32 or torch.float64"
            )
        if n < (1 if self.num_generated == 0 else 0):
            rows = n - 1 if self.num_generated == 0 else n
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {rows}: [{rows}, {self.dimension}]; draw one point "
                "or more"
            )
        result = _C.empty(0, self.dimension, dtype=dtype, device="cpu")
        if n:
            points = self._points(n)
            result = points.to(dtype) * 2.0**-self.MAXBIT
            if self.num_generated == 0:
                result[0] = self._first_point[0]  # which has the default type's digits
            self.quasi = points[-1].clone()
        self.num_generated += n
        if out is None:
            return result
        return out.resize_(result.shape).copy_(result)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2^m points, such that a power of 2 of them has been drawn, as keeps the sequence balanced.

        >>> import adjoint as torch
        >>> torch.quasirandom.SobolEngine(3).draw_base2(2).shape
        torch.Size([4, 3])
        """
        self._check_number("draw_base2", m)
        if not 0 <= m <= self.MAXBIT:
            raise ValueError(f"SobolEngine.draw_base2(): expected a power from 0 to {self.MAXBIT}; got {m}")
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}="
                f"{total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self):
        """Goes back to the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves out the next n points.

        >>> import adjoint as torch
        >>> torch.quasirandom.SobolEngine(2).fast_forward(2).draw(1)
        tensor([[0.7500, 0.2500]])
        """
        self._check_number("fast_forward", n)
        if n < 0:
            raise ValueError(f"SobolEngine.fast_forward(): expected a number from 0 up; got {n}")
        self.num_generated += n
        self.quasi = self._state(max(self.num_generated - 1, 0))
        return self

    def _check_number(self, name, n):
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(f"SobolEngine.{name}(): expected an int; got {type(n).__name__}")
        if self.num_generated + n > 2**self.MAXBIT:
            raise ValueError(
                f"SobolEngine.{name}(): the sequence has 2**{self.MAXBIT} points; {self.num_generated} were drawn, and "
                f"{n} more are asked for"
            )

    def __repr__(self):
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] if self.scramble else []
        parts += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"
