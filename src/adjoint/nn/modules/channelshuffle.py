"""Channels of groups dealt out in turn: ChannelShuffle."""

from .. import functional as F
from .settings import Settings

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Settings):
    """Takes the channels of `groups` groups in turn, so that the groups of the next layer see all of these.

    >>> import adjoint as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]

    def __init__(self, groups):
        super().__init__(groups=groups)

    def forward(self, input):
        """The input, its channels in the new order."""
        return F.channel_shuffle(input, self.groups)
