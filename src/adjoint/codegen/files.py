"""All generated files: what the build compiles and installs."""

from .cuda import cuda_file
from .glue import glue_file
from .kernels import kernels_of
from .loops import OTHER, REAL, SHARDS, loop_file, registration_file, shard_of
from .rules import derived_file
from .updates import update_file


def generate(table, updates, csrc=None):
    """The generated files: text by file name. `csrc` is the folder of the C++ sources; without it, no device code."""
    kernels = [k for item in table.unique("elementwise") for k in kernels_of(table, item)]
    files = {}
    for shard in range(SHARDS):
        mine = [k for k in kernels if shard_of(k) == shard]
        files[f"kernels_real_{shard}.cpp"] = loop_file(f"real_{shard}", mine, REAL)
        files[f"kernels_other_{shard}.cpp"] = loop_file(f"other_{shard}", mine, OTHER)
    files["kernels_updates.cpp"] = update_file(updates)
    files["kernels_registration.cpp"] = registration_file()
    files["glue.cpp"] = glue_file(table)
    if csrc is not None:
        files["cuda_sources.cpp"] = cuda_file(kernels, updates, csrc)
    files["derived.py"] = derived_file([k for k in kernels if k.derived])
    return files


def write(files, folder):
    """Writes the files of which the text has changed, so that only what they touch is compiled again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
