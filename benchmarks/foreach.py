"""Ops on lists of 1,000 small tensors, torch._foreach_*, beside torch: `python benchmarks/foreach.py`; see table.py."""

from foreach_cases import CASES
from table import main

if __name__ == "__main__":
    main(CASES, __doc__, "call")
