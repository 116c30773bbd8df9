"""Distributions beside torch.distributions: `python benchmarks/distributions.py`; see table.py."""

from distributions_cases import CASES
from table import main

if __name__ == "__main__":
    main(CASES, __doc__)
