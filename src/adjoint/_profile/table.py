"""The table of a profiler's events, in torch's columns, and how times, shares and bytes are written in it."""

import math

NAME_PADDING = 4
COLUMN = 12
GAP = "  "
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def format_time(time_us):
    """12.300us, 1.200ms or 3.400s."""
    unit = "s" if time_us >= 1e6 else "ms" if time_us >= 1e3 else "us"
    return format_time_in(time_us, unit)


def format_time_in(time_us, unit):
    return f"{time_us / _UNITS[unit]:.3f}{unit}"


def format_share(time_us, total_us):
    """A time as a share of another."""
    if total_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}: the total is 0, so every part must be, too")
        return "NaN"
    return f"{100 * time_us / total_us:.2f}%"


def format_memory(count):
    """12 B, 1.50 KB, 2.00 MB or 3.00 GB."""
    for unit, size in (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


class _Column:
    """A column of a table: its header, how wide it is, and what a row has in it."""

    def __init__(self, header, cell, width=COLUMN, left=False):
        self.header = header
        self.cell = cell
        self.width = width
        self.left = left

    def text(self, value):
        return f"{value:<{self.width}}" if self.left else f"{value:>{self.width}}"


def _shortened(text, width):
    return text[: width - 3] + "..." if len(text) >= width else text


def _fitting(texts, limit):
    """The width of a column for these texts."""
    return min(max((len(text) for text in texts), default=0) + NAME_PADDING, limit)


def _flops_column(events):
    """The column of floating-point operations, in a unit by the smallest count; None where nothing was counted."""
    counts = [event.flops for event in events if event.flops and event.flops > 0]
    if not counts:
        return None
    units = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
    scale = min(int(max(math.log10(min(counts)), 0) // 3), len(units) - 1)

    def cell(event):
        return f"{event.flops / 1000**scale:8.3f}" if event.flops and event.flops > 0 else "--"

    return _Column(f"Total {units[scale]}", cell)


def _columns(events, profile_memory, with_flops, widths, write_time):
    total = sum(event.self_cpu_time_total for event in events)
    name_width = _fitting([event.key for event in events], widths.name)
    columns = [_Column("Name", lambda event: _shortened(event.key, name_width), name_width)]
    if any(event.overload_name for event in events):
        columns.append(_Column("Overload Name", lambda event: event.overload_name or "", name_width))
    columns += [
        _Column("Self CPU %", lambda event: format_share(event.self_cpu_time_total, total)),
        _Column("Self CPU", lambda event: write_time(event.self_cpu_time_total)),
        _Column("CPU total %", lambda event: "0" if event.is_async else format_share(event.cpu_time_total, total)),
        _Column("CPU total", lambda event: write_time(event.cpu_time_total)),
        _Column("CPU time avg", lambda event: write_time(event.cpu_time)),
    ]
    if profile_memory:
        columns.append(_Column("CPU Mem", lambda event: format_memory(event.cpu_memory_usage)))
        columns.append(_Column("Self CPU Mem", lambda event: format_memory(event.self_cpu_memory_usage)))
    columns.append(_Column("# of Calls", lambda event: str(event.count)))
    if any(event.node_id != -1 for event in events):
        columns.append(_Column("Node ID", lambda event: str(event.node_id)))
    if any(event.input_shapes for event in events):
        width = _fitting([str(event.input_shapes) for event in events], widths.shapes)
        columns.append(_Column("Input Shapes", lambda event: str(event.input_shapes)[:width], width))
    flops = _flops_column(events) if with_flops else None
    if flops:
        columns.append(flops)
    stacks = [entry for event in events for entry in event.stack or ()]
    if stacks:
        columns.append(_Column("Source Location", lambda event: "", _fitting(stacks, widths.source), left=True))
    return columns, total


class Widths:
    """The most that columns may take."""

    def __init__(self, source, name, shapes):
        self.source, self.name, self.shapes = source, name, shapes


def _row(columns, cells):
    return GAP.join(column.text(cell) for column, cell in zip(columns, cells, strict=True)) + GAP


def _source_lines(columns, event):
    """The lines of a row: the stack has one for each call, and an empty one after it."""
    source = columns[-1]
    width = source.width
    entries = ["..." + entry[3 - width :] if len(entry) > width else entry for entry in event.stack or ()]
    cells = [column.cell(event) for column in columns]
    blank = [""] * (len(columns) - 1)
    first = _row(columns, [*cells[:-1], entries[0] if entries else ""])
    return [first, *(_row(columns, [*blank, entry]) for entry in entries[1:]), _row(columns, [*blank, ""])]


def _sorted(events, sort_by):
    sort_by = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
    return sorted(events, key=lambda event: getattr(event, sort_by), reverse=True)


def build_table(
    events, sort_by, header, row_limit, widths, profile_memory, with_flops, top_level_events_only, time_unit
):
    """The table as a text."""
    if not events:
        return ""
    events = list(events)
    if sort_by is not None:
        events = _sorted(events, sort_by)

    def write_time(time_us):
        return format_time_in(time_us, time_unit) if time_unit in _UNITS else format_time(time_us)

    columns, total = _columns(events, profile_memory, with_flops, widths, write_time)
    has_source = columns[-1].header == "Source Location"
    rule = GAP.join("-" * column.width for column in columns) + GAP
    lines = []
    for title in (header, "This report only display top-level ops statistics" if top_level_events_only else None):
        if title is not None:
            lines += ["=" * (len(rule) - len(GAP)), title]
    lines += [rule, _row(columns, [column.header for column in columns]), rule]
    shown = 0
    for event in events:
        if shown == row_limit:
            break
        if top_level_events_only and event.cpu_parent is not None:
            continue
        shown += 1
        if has_source:
            lines += _source_lines(columns, event)
        else:
            lines.append(_row(columns, [column.cell(event) for column in columns]))
    return "\n".join([*lines, rule, f"Self CPU time total: {write_time(total)}", ""])
