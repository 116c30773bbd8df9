"""What all tests share: known seeds, one thread for torch, and warnings that are errors (pyproject.toml)."""

import random

import numpy as np
import pytest
import torch

import adjoint

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeds():
    """Every test starts from the same random numbers, in both libraries."""
    for seed in (random.seed, np.random.seed, torch.manual_seed, adjoint.manual_seed):
        seed(0)
