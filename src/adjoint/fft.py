"""Fourier transforms; filled from the op table when the package is imported."""
