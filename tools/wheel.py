"""Makes a wheel as the package index wants it, and checks it: `python tools/wheel.py [--out DIR] [-C KEY=VALUE ...]`.

Runs `python -m build --wheel`, which takes what an earlier `pip install .` with the same settings has compiled, then
`auditwheel repair`, and fails where the wheel has the wrong tag, is too large, lacks a part, or brings libraries of
others.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 8e6  # bytes, packed
PARTS = ("adjoint/__init__.py", "adjoint/py.typed", "adjoint/_C.pyi", "adjoint/__init__.pyi", "adjoint/ops/derived.py")


def faults(wheel):
    """What is wrong with a repaired wheel, in words."""
    found = []
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    if not re.search(rf"-{python}-{python}-(manylinux_2_\d+_\w+\.?)+\.whl$", wheel.name):
        found.append(f"its name is {wheel.name}, which no tag of manylinux for {python} ends")
    if wheel.stat().st_size > LARGEST:
        found.append(f"it has {wheel.stat().st_size / 1e6:.1f} MB, more than {LARGEST / 1e6:.0f}")
    names = zipfile.ZipFile(wheel).namelist()
    found += [f"{part} is missing" for part in PARTS if part not in names]
    libraries = [name for name in names if ".so" in name]
    if len(libraries) != 1 or not libraries[0].startswith("adjoint/_C."):
        found.append(f"its libraries are {libraries}, and not the extension alone")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheel")
    parser.add_argument("-C", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="as of pip")
    options = parser.parse_args()
    settings = [f"-C{setting}" for setting in options.settings]
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, *settings, ROOT]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (plain,) = Path(folder).glob("*.whl")
        before = set(options.out.glob("*.whl"))
        repair = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", options.out, plain]
        subprocess.run(repair, check=True)
    wheel = max(set(options.out.glob("*.whl")) - before or before, key=lambda path: path.stat().st_mtime)
    found = faults(wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", *(f"  {fault}" for fault in found), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
