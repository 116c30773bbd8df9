"""Writes the generated code: `python tools/generate.py --out DIR` runs adjoint.codegen on the op table.

It runs before the extension is built, when `import adjoint` cannot work yet: bare packages stand for those whose
__init__ would ask for it. A file is touched only when its text changes.
"""

import argparse
import sys
import types
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"

for name in ("adjoint", "adjoint.ops", "adjoint.optim"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(SOURCES / name.replace(".", "/"))]

from adjoint.codegen import files, reading  # noqa: E402 - once the packages are in place
from adjoint.codegen.expressions import TraceError  # noqa: E402 - likewise
from adjoint.ops.declaration import DeclarationError  # noqa: E402 - likewise


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the generated files")
    options = parser.parse_args()
    try:
        table = reading.read_table()
        files.write(files.generate(table, reading.read_updates(table), SOURCES.parent / "csrc"), options.out)
    except (DeclarationError, TraceError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
