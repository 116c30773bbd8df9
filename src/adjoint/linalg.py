"""Linear algebra functions; filled from the op table when the package is imported."""


class LinAlgError(RuntimeError):
    """A matrix for which there is no result: singular, not positive-definite, or an iteration that did not end.

    >>> import adjoint as torch
    >>> try:
    ...     torch.linalg.inv(torch.zeros(2, 2))
    ... except torch.linalg.LinAlgError as error:
    ...     print(str(error).split(":")[0])
    linalg.inv
    """

    def __init__(self, *args):
        super().__init__(*args)
