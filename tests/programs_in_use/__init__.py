"""Training programs in the styles people use, each a function of the library: see test_programs_in_use.py."""
