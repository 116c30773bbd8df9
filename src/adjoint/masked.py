"""Reductions and normalisations of the elements under a mask; filled from the op table when the package is imported."""
