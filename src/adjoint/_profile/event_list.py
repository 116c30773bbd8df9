"""Lists of events: which contain which, sums over those that are alike, and what is printed and written of them."""

from collections import defaultdict

from .event import FunctionEventAvg
from .kinds import DeviceType
from .table import Widths, build_table

STACK_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


class EventList(list):
    """Events of a profiler, or sums of them, with tables and files made of them.

    >>> import adjoint as torch
    >>> x = torch.ones(3)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = x * x + x
    >>> [(event.key, event.count) for event in prof.function_events.key_averages()]
    [('aten::mul', 1), ('aten::add', 1)]
    """

    def __init__(self, *args, **kwargs):
        self._use_device = kwargs.pop("use_device", None)
        self._profile_memory = kwargs.pop("profile_memory", False)
        self._with_flops = kwargs.pop("with_flops", False)
        super().__init__(*args, **kwargs)
        self._tree_built = False

    def __str__(self):
        return self.table()

    def _build_tree(self):
        """Finds out which events contain which."""
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self):
        by_thread = defaultdict(list)
        for event in self:
            if not event.is_async and event.device_type == DeviceType.CPU:
                by_thread[event.thread, event.node_id].append(event)
        for events in by_thread.values():
            open_events = []
            for event in sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end)):
                while open_events and not _contains(open_events[-1], event):
                    open_events.pop()
                if open_events:
                    open_events[-1].append_cpu_child(event)
                    event.set_cpu_parent(open_events[-1])
                open_events.append(event)

    def _remove_dup_nodes(self):
        """Drops events that are all that another one of their name does."""
        while True:
            dropped = {
                id(event)
                for event in self
                if event.cpu_parent is not None
                and event.cpu_parent.name == event.name
                and len(event.cpu_parent.cpu_children) == 1
            }
            if not dropped:
                return
            for event in self:
                if id(event) in dropped:
                    event.cpu_parent.cpu_children = event.cpu_children
                    event.cpu_parent.kernels = event.kernels
                    for child in event.cpu_children:
                        child.cpu_parent = event.cpu_parent
            self[:] = [event for event in self if id(event) not in dropped]

    def _set_backward_stacktraces(self):
        """Gives backward's events the stacks of the calls that they are the backward of."""
        stacks = {
            (event.thread, event.sequence_nr): event.stack
            for event in reversed(self)
            if event.stack and not _backward_parent(event) and event.sequence_nr >= 0
        }
        for event in self:
            parent = _backward_parent(event)
            if parent is not None:
                if parent.fwd_thread is None:
                    raise AssertionError("Expected fwd_thread to be set for backward parent: it says where it began")
                event.stack = stacks.get((parent.fwd_thread, parent.sequence_nr), [])

    @property
    def self_cpu_time_total(self):
        """The time of all events together, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """The events as a table, sorted by one of their attributes, such as "self_cpu_time_total" or "count".

        >>> import adjoint as torch
        >>> x = torch.ones(3)
        >>> with torch.profiler.profile() as prof:
        ...     y = x * x
        >>> "aten::mul" in prof.key_averages().table(sort_by="count", row_limit=5)
        True
        """
        widths = Widths(max_src_column_width, max_name_column_width, max_shapes_column_width)
        flags = self._profile_memory, self._with_flops
        return build_table(self, sort_by, header, row_limit, widths, *flags, top_level_events_only, time_unit)

    def export_chrome_trace(self, path):
        """Writes the events to a file that chrome://tracing and ui.perfetto.dev open."""
        from .chrome import list_content, write

        write(path, list_content(self))

    def supported_export_stacks_metrics(self):
        """The names that export_stacks takes."""
        return list(STACK_METRICS)

    def export_stacks(self, path, metric):
        """Writes stacks with their times, a line each, as flame graphs are made of."""
        if metric not in STACK_METRICS:
            raise ValueError(f"metric should be one of: {STACK_METRICS}; got {metric!r}")
        spoilt = str.maketrans(" ;\t\n", "____")
        name = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        with open(path, "w") as file:
            for event in self:
                value = int(getattr(event, name))
                if event.stack and value > 0:
                    file.write(f"{';'.join(entry.translate(spoilt) for entry in reversed(event.stack))} {value}\n")

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums over events of one name; of one name and one list of shapes, or of one stack, where asked for.

        >>> import adjoint as torch
        >>> with torch.profiler.profile(record_shapes=True) as prof:
        ...     for n in (2, 2, 3):
        ...         y = torch.ones(n).exp()
        >>> sums = prof.events().key_averages(group_by_input_shapes=True)
        >>> [(event.key, event.input_shapes, event.count) for event in sums if event.key == "aten::exp"]
        [('aten::exp', [[2]], 2), ('aten::exp', [[3]], 1)]
        """
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages: _build_tree() does it")
        sums: defaultdict = defaultdict(FunctionEventAvg)
        for event in self:
            key = [str(event.key), str(event.node_id), str(event.device_type), str(event.is_legacy)]
            key.append(str(event.is_user_annotation))
            if group_by_overload_name:
                key.append(str(event.overload_name))
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key += (event.stack or [])[:group_by_stack_n]
            sums[tuple(key)].add(event)
        averages = EventList(
            sums.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        for event in averages:
            event.stack = (event.stack or [])[: max(group_by_stack_n, 0)]
            if not group_by_input_shapes:
                event.input_shapes = ""
            if not group_by_overload_name:
                event.overload_name = ""
        averages._tree_built = True
        return averages

    def total_average(self):
        """The sum of all events, as one."""
        total = FunctionEventAvg()
        for event in self:
            total.key = None
            total.add(event)
        total.key = "Total"
        return total


def _contains(outer, inner):
    return inner.time_range.start < outer.time_range.end and inner.time_range.end <= outer.time_range.end


def _backward_parent(event):
    """The outermost event around this one that backward has made, or None."""
    while event is not None:
        if event.scope == 1:
            return event
        event = event.cpu_parent
    return None
