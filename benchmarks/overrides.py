"""Calls that `__torch_function__` takes over, beside torch: `python benchmarks/overrides.py`; see table.py."""

from overrides_cases import CASES
from table import main

if __name__ == "__main__":
    main(CASES, __doc__, "call")
