"""Lines of Python, as people know them: a file and a number, or a cell of a notebook."""

import linecache
import os
import re
import sys
from typing import NamedTuple

LONGEST = 80  # characters of code in a table
_CELL = re.compile(r"<ipython-input-(\d+)-")


def cell_of(file):
    """The name of the notebook cell that a file stands for, such as "In [3]"; "" for other files."""
    shell = getattr(getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)(), "compile", None)
    if hasattr(shell, "format_code_name"):  # kernels keep cells in temporary files, and know which
        _, name = shell.format_code_name(file) or ("", "")
        if found := re.fullmatch(r"In ?\[(\d+)\]", name):
            return f"In [{found[1]}]"
    found = _CELL.match(file)
    return f"In [{found[1]}]" if found else ""


class Place(NamedTuple):
    """A line of Python."""

    file: str
    line: int
    function: str

    def __str__(self):
        if not self.file:
            return "an unknown line"
        if self.function == "<module>" and cell_of(self.file):
            return self.short
        return f"{self.short} in {self.function}"

    @property
    def short(self):
        """File name and line without the folder; of a notebook, the cell and its line."""
        if not self.file:
            return ""
        cell = cell_of(self.file)
        return f"{cell} line {self.line}" if cell else f"{os.path.basename(self.file)}:{self.line}"

    @property
    def code(self):
        """The text of the line, where the file can be read."""
        return linecache.getline(self.file, self.line).strip() if self.file else ""

    @property
    def brief(self):
        """The text of the line, cut where it is long."""
        return self.code if len(self.code) <= LONGEST else f"{self.code[: LONGEST - 3]}..."

    def quoted(self):
        """The place and the text of its line."""
        return f"{self}: `{self.code}`" if self.code else str(self)


NOWHERE = Place("", 0, "")
