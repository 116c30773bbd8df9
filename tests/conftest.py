"""What all tests share: known seeds, one thread for torch, all cores for a long run, and warnings that are errors
(pyproject.toml)."""

import gc
import os
import random
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis.internal.conjecture import providers

import adjoint

torch.set_num_threads(1)

# Under the sanitizers, freed memory is neither reused nor given back at once, addresses cannot be limited, and working
# space that cannot be had ends the process; a thread that ends by unwinding is an error to them, and so is torch's
# narrow_copy, which copies memory onto itself.
if "asan" in os.environ.get("LD_PRELOAD", ""):
    collect_ignore = ["test_resident_memory.py", "test_huge_sizes.py", "test_exit.py", "test_overlap.py"]

# Random inputs are the same in every run: what fails here fails everywhere. --hypothesis-profile=fresh asks for others.
hypothesis.settings.register_profile(
    "fresh", deadline=None, database=None, print_blob=True, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.register_profile("same", hypothesis.settings.get_profile("fresh"), derandomize=True)
hypothesis.settings.load_profile("same")
# Newer versions also draw numbers from the sources of modules that happen to be loaded: not the same in every run.
if hasattr(providers, "_get_local_constants"):
    _NO_CONSTANTS = providers._local_constants
    providers._get_local_constants = lambda: _NO_CONSTANTS

# Each process holds torch: more of them would rather run out of memory than end sooner.
MOST_PROCESSES = 8


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Whole folders are tested on all cores; single files, or where the user said how many, as asked for."""
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):
        return
    options = config.option
    folders = all(Path(path).is_dir() for path in config.args)
    if (
        options.numprocesses is None
        and options.dist == "no"
        and folders
        and not options.usepdb
        and not options.collectonly
    ):
        processes = min(len(os.sched_getaffinity(0)), MOST_PROCESSES)
        if processes > 1:
            options.numprocesses, options.dist = processes, "worksteal"


def pytest_collection_finish(session):
    """What has been imported and collected stays: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _seeds():
    """Every test starts from the same random numbers, in both libraries."""
    for seed in (random.seed, np.random.seed, torch.manual_seed, adjoint.manual_seed):
        seed(0)
