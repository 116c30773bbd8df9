"""One module on several GPUs: without any, the module itself runs."""

from .data_parallel import DataParallel as DataParallel
