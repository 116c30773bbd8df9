"""Functions of the package that PyTorch writes in Python, under the module where it keeps them."""

from . import atleast_1d as atleast_1d
from . import atleast_2d as atleast_2d
from . import atleast_3d as atleast_3d
from . import block_diag as block_diag
from . import broadcast_shapes as broadcast_shapes
from . import broadcast_tensors as broadcast_tensors
from . import cartesian_prod as cartesian_prod
from . import cdist as cdist
from . import chain_matmul as chain_matmul
from . import einsum as einsum
from . import istft as istft
from . import lu as lu
from . import meshgrid as meshgrid
from . import norm as norm
from . import pca_lowrank as pca_lowrank
from . import split as split
from . import stft as stft
from . import svd_lowrank as svd_lowrank
from . import tensordot as tensordot
from . import unique as unique
from . import unique_consecutive as unique_consecutive
from . import unravel_index as unravel_index
