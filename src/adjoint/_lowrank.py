"""Factorizations of low rank, where some programs import them from."""

from .functional import pca_lowrank as pca_lowrank
from .functional import svd_lowrank as svd_lowrank
