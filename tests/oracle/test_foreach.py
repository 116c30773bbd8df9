"""torch._foreach_* by the samples of torch's database of such functions."""

import pytest

from . import foreach

# What torch refuses and is computed here: the op on one tensor takes bools, too.
OF_BOOLS = ("_foreach_clamp_max", "_foreach_clamp_min", "_foreach_maximum", "_foreach_minimum", "_foreach_pow")


@pytest.mark.parametrize("name", foreach.entries())
def test_entry(name):
    dtypes = [dtype for dtype in foreach.DTYPES if dtype != "bool" or name not in OF_BOOLS]
    assert foreach.check(name, dtypes) == []
