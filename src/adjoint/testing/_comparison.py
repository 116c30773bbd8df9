"""Comparisons, where some packages import them from."""

from .comparison import assert_allclose as assert_allclose
from .comparison import assert_close as assert_close
