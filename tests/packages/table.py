"""The table of what came of the packages: on the terminal, and in docs/packages.md."""

import os
import re
from pathlib import Path

from rich.table import Table

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "packages.md"
BEGIN, END = "<!-- table: python -m tests.packages --write -->\n", "<!-- end of the table -->\n"
COLOURS = {"agrees": "green", "differs": "red", "stops": "yellow", "fails": "magenta"}
ROW = re.compile(r"^\| \[?([\w.-]+)")


def shown(outcomes):
    """A table for the terminal."""
    table = Table("package", "version", "result", "difference / allowed", "faster than torch")
    for item in outcomes:
        numbers = (f"{item.difference:.2g}" if item.kind in ("agrees", "differs") else "", times(item))
        colour = COLOURS[item.kind]
        table.add_row(item.package.name, item.package.version, f"[{colour}]{escaped(item.words())}", *numbers)
    return table


def escaped(text):
    """A text in which rich sees no markup."""
    return text.replace("[", r"\[")


def times(item):
    """How many times faster than torch, in words."""
    return "" if item.faster is None else f"{item.faster:.1f}x"


def row(item):
    """A line of the page's table."""
    words = item.words().replace("|", r"\|")
    return f"| {item.package.name} | {item.package.version} | {words} | {times(item)} |"


def write(outcomes, page=PAGE):
    """Puts the rows of these packages into the table of the page, by name; other rows stay. The page changes whole."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    lines = table.splitlines()
    rows = {ROW.match(line)[1]: line for line in lines[2:]}
    rows |= {item.package.name: row(item) for item in outcomes}
    body = "\n".join([*lines[:2], *(rows[name] for name in sorted(rows, key=str.lower))])
    partial = page.with_suffix(".part")
    partial.write_text(f"{before}{BEGIN}{body}\n{END}{after}")
    os.replace(partial, page)
