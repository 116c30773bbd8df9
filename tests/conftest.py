"""What all tests share: known seeds, one thread for torch, and warnings that are errors (pyproject.toml)."""

import os
import random

import hypothesis
import numpy as np
import pytest
import torch

import adjoint

torch.set_num_threads(1)

# Random inputs are fresh on a developer's machine; where a result is judged by this run, they are the same every time.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("fresh", deadline=None, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "fresh")


@pytest.fixture(autouse=True)
def _seeds():
    """Every test starts from the same random numbers, in both libraries."""
    for seed in (random.seed, np.random.seed, torch.manual_seed, adjoint.manual_seed):
        seed(0)
