"""The layers, one file per family; all of them are found in adjoint.nn."""

from .activation import *
from .adaptive import *
from .attention import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .instancenorm import *
from .linear import *
from .loss import *
from .module import Module as Module
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *

# The classes, and not the files that they stand in.
__all__ = [name for name in dir() if name[0].isupper()]
