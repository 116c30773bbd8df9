"""Compare: measurements side by side, a row for each sub label, a column for each description."""

import enum
import itertools
import math

from ._measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

BEST, GOOD, BAD, VERY_BAD, BOLD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m"
END = "\033[0m"


class Colorize(enum.Enum):
    """Of which numbers of a table the best and the worst are coloured.

    >>> from adjoint.utils.benchmark import Colorize
    >>> Colorize("rowwise")
    <Colorize.ROWWISE: 'rowwise'>
    """

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements.

    >>> import adjoint as torch
    >>> from adjoint.utils.benchmark import Compare, Timer
    >>> results = [Timer("x + x", globals={"x": torch.ones(n)}, label="sum", sub_label=str(n), description="float32")
    ...            .timeit(10) for n in (1, 10)]
    >>> table = str(Compare(results))
    >>> "sum" in table, "float32" in table
    (True, True)
    """

    def __init__(self, results):
        self._results = []
        self.extend_results(results)
        self._trimmed, self._colored, self._warned = False, Colorize.NONE, False

    def extend_results(self, results):
        """Adds measurements."""
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(one)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Leaves out the digits that the spread of the times does not bear."""
        self._trimmed = True

    def colorize(self, rowwise=False):
        """Colours the best and the worst of each column, or row."""
        self._colored = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Marks measurements whose times differ much."""
        self._warned = True

    def print(self):
        """Prints the table."""
        print(str(self))

    def __str__(self):
        merged = Measurement.merge(self._results)
        tables = []
        for label in ordered_unique(one.task_spec.label for one in merged):
            tables.append(self._table([one for one in merged if one.task_spec.label == label]))
        return "\n".join(tables)

    def _table(self, results):
        unit, size = select_unit(min(one.median for one in results))
        columns = ordered_unique(one.description or "" for one in results)
        rows = ordered_unique(_row(one) for one in results)
        found = {(_row(one), one.description or ""): one for one in results}
        places = {
            column: self._places([one for (_, c), one in found.items() if c == column], size) for column in columns
        }
        cells = {key: self._number(one, size, places[key[1]]) for key, one in found.items()}
        names = [f"      {name}{f' ({env})' if env else ''}" for _, env, name in rows]
        first = max(len(name) for name in names)
        widths = [max(len(column), *(len(cells.get((row, column), "")) for row in rows)) for column in columns]
        inside = "  |  ".join([" " * first, *map(str.center, columns, widths)])
        title = f" {results[0].task_spec.label or ''} "
        lines = [f"[{title:-^{len(inside) - 2}}]", inside.rstrip()]
        for threads, group in itertools.groupby(zip(rows, names, strict=True), key=lambda pair: pair[0][0]):
            lines.append(f"{threads} threads: ".ljust(len(inside), "-"))
            for row, name in group:
                texts = [self._painted(found, row, column, cells, w) for column, w in zip(columns, widths, strict=True)]
                lines.append("  |  ".join([name.ljust(first), *texts]))
        notes = [f"\nTimes are in {unit_to_english(unit)}s ({unit}).\n"]
        if self._warned and any(one.has_warnings for one in results):
            notes.insert(0, "\n(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(lines + notes)

    def _places(self, column, size):
        """How many digits the numbers of a column have behind the point."""
        if not self._trimmed:
            return 1
        before = [math.floor(math.log10(one.median / size) + 1e-9) + 1 for one in column]
        return max(0, min(one.significant_figures - digits for one, digits in zip(column, before, strict=True)))

    def _number(self, one, size, places):
        value = trim_sigfig(one.median / size, one.significant_figures) if self._trimmed else one.median / size
        text = f"{value:.{places}f}"
        if self._warned and one.has_warnings:
            text += f" (! {one.iqr / one.median * 100:.0f}%)"
        return text

    def _painted(self, found, row, column, cells, width):
        text = cells.get((row, column), "").center(width)
        if self._colored is Colorize.NONE or (row, column) not in found:
            return text
        if self._colored is Colorize.ROWWISE:
            beside = [one.median for (r, _), one in found.items() if r == row]
        else:
            beside = [one.median for (_, c), one in found.items() if c == column]
        value, best = found[row, column].median, min(beside)
        color = BEST + BOLD if value <= best else GOOD if value <= 1.1 * best else ""
        color = color or (VERY_BAD + BOLD if value > 2 * best else BAD if value > 1.25 * best else "")
        return f"{color}{text}{END}" if color else text


def _row(one):
    return one.task_spec.num_threads, one.task_spec.env or "", one.as_row_name
