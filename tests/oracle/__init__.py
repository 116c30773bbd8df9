"""Adjoint against torch's operator database: every entry's samples run in both libraries and are compared.

`python -m tests.oracle` prints how many entries agree and which do not, and why; see `__main__.py`.

- `entries.py`: the database, Adjoint's counterpart of each entry, what is left out and what needs a special comparison
- `translate.py`: torch's values (tensors, types, functions of the database) as Adjoint's
- `check.py`: all comparisons of one entry: forward, variants, gradients, second gradients, error inputs
- `workers.py`: many entries at once in processes that may crash or hang
- `foreach.py`: the same of torch._foreach_*, which have a database of their own
- `report.py`: docs/coverage.md and agreed.txt, the entries that may not stop agreeing
"""
