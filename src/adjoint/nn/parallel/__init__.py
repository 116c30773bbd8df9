"""One module on several GPUs, or in several processes, of which there is one."""

from . import comm as comm
from . import distributed as distributed
from . import scatter_gather as scatter_gather
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel
from .distributed import DistributedDataParallelCPU as DistributedDataParallelCPU
from .parallel_apply import parallel_apply as parallel_apply
from .replicate import replicate as replicate
from .scatter_gather import gather as gather
from .scatter_gather import scatter as scatter
from .scatter_gather import scatter_kwargs as scatter_kwargs

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]
