"""Where NVIDIA's libraries may lie: in the folders of their wheels, beside this package or elsewhere on the path."""

import sys
from pathlib import Path

from .. import _C


def find():
    """Tells the core of every folder nvidia/*/lib on the path."""
    places = (Path(entry) / "nvidia" for entry in sys.path if entry)
    _C._cuda_set_folders([str(folder) for place in places if place.is_dir() for folder in sorted(place.glob("*/lib"))])
