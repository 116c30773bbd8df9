"""Writes the list of what is not there into README.md, from the table in src/adjoint/_absent_names.py."""

import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- absent -->\n", "<!-- end of absent -->\n"


def with_list(text, items):
    """The text of README.md with this list between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md: expected the lines {BEGIN.strip()} and {END.strip()}")
    lines = [textwrap.fill(item, 120, subsequent_indent="  ", break_on_hyphens=False) for item in items.splitlines()]
    return before + begin + "\n".join(lines) + "\n" + end + after


def main():
    """Reads the table of the package that is imported, and rewrites README.md."""
    sys.path.insert(0, str(ROOT / "src"))
    from adjoint._absent_names import readme_list

    path = ROOT / "README.md"
    path.write_text(with_list(path.read_text(), readme_list()))


if __name__ == "__main__":
    main()
