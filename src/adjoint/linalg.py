"""Linear algebra functions; filled from the op table when the package is imported."""


class LinAlgError(RuntimeError):
    """A matrix for which there is no result: singular, not positive-definite, or an iteration that did not end."""
