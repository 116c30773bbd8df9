"""Tests of tensors on a GPU: `python -m tests.cuda` runs them, on the stand-in driver where there is no GPU."""
