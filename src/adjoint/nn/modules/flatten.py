"""Dimensions joined and divided: Flatten and Unflatten."""

from .settings import Settings

__all__ = ["Flatten", "Unflatten"]


class Flatten(Settings):
    """Joins the dimensions from `start_dim` to `end_dim` into one; the batch stays by default.

    >>> import adjoint as torch
    >>> torch.nn.Flatten()(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__(start_dim=start_dim, end_dim=end_dim)

    def forward(self, input):
        """The input with the dimensions joined."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Settings):
    """Divides a dimension into several.

    >>> import adjoint as torch
    >>> torch.nn.Unflatten(1, (3, 4))(torch.zeros(2, 12)).shape
    torch.Size([2, 3, 4])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size):
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )
        super().__init__(dim=dim, unflattened_size=unflattened_size)

    def forward(self, input):
        """The input with the dimension divided."""
        return input.unflatten(self.dim, self.unflattened_size)
