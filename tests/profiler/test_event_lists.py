"""Lists of events beside torch's, made of the same numbers: tables, sums, nesting, stacks, texts and errors."""

import importlib
import json

import pytest

LIBRARIES = ("torch", "adjoint")


def util(library):
    return importlib.import_module(f"{library}.autograd.profiler_util")


def events(library, **options):
    """Two calls of one op, of which the first contains another, and one with long names and shapes."""
    U = util(library)

    def event(number, name, start, end, **others):
        return U.FunctionEvent(number, name, 1, start, end, **others)

    shapes = [[i, i + 1] for i in range(20)]
    made = U.EventList(
        [
            event(
                1, "aten::mul", 0, 100, input_shapes=[[2, 3], []], cpu_memory_usage=2048, flops=10, stack=["a: f", "b"]
            ),
            event(2, "aten::empty", 10, 30, cpu_memory_usage=1024, stack=["a: f", "b"], input_shapes=[], flops=0),
            event(3, "aten::mul", 200, 5300, input_shapes=[[2, 3], []], flops=20000, stack=["c"]),
            event(4, "x" * 70, 6000, 1006000, input_shapes=shapes, stack=[], flops=0),
        ],
        **options,
    )
    made._build_tree()
    return made


def same(call, **options):
    theirs, ours = (call(events(library, **options)) for library in LIBRARIES)
    assert ours == theirs
    return ours


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"row_limit": 2},
        {"row_limit": 0},
        {"row_limit": -1},
        {"header": "Title", "top_level_events_only": True},
        {"sort_by": "cpu_time_total", "time_unit": "ms"},
        {"sort_by": "self_cpu_memory_usage", "time_unit": "s"},
        {"max_src_column_width": 5, "max_name_column_width": 20, "max_shapes_column_width": 30},
    ],
)
def test_tables_of_events(arguments):
    assert "aten::mul" in same(lambda made: made.table(**arguments)) or arguments.get("row_limit") == 0


@pytest.mark.parametrize(
    "grouping",
    [
        {},
        {"group_by_input_shapes": True},
        {"group_by_stack_n": 1},
        {"group_by_input_shapes": True, "group_by_stack_n": 5},
    ],
)
@pytest.mark.parametrize("memory", [False, True])
def test_tables_of_sums(grouping, memory):
    same(lambda made: made.key_averages(**grouping).table(), profile_memory=memory)
    same(lambda made: made.key_averages(**grouping).table(sort_by="self_cpu_time_total", row_limit=2))


def test_columns_of_operations():
    same(lambda made: made.key_averages().table(), with_flops=True)
    for count in (0, 1, 999, 1000, 2.5e6, 1e9, 1e12, 1e15, 1e18):
        texts = []
        for library in LIBRARIES:
            U = util(library)
            texts.append(U.EventList([U.FunctionEvent(1, "m", 1, 0, 10, flops=count)], with_flops=True).table())
        assert texts[1] == texts[0]


def test_an_empty_list():
    theirs, ours = (util(library).EventList([]) for library in LIBRARIES)
    assert ours.table() == theirs.table() == ""
    assert repr(ours.total_average()) == repr(theirs.total_average())


@pytest.mark.parametrize(
    "name",
    [
        *("cpu_time", "cuda_time", "cpu_time_total", "cuda_time_total", "cpu_memory_usage", "self_cpu_memory_usage"),
        *("self_cpu_time_total", "self_cuda_time_total", "device_time_total", "count", "flops", "key"),
    ],
)
def test_what_tables_are_sorted_by(name):
    same(lambda made: made.key_averages().table(sort_by=name))


def test_sorting_by_what_is_not_there():
    for library in LIBRARIES:
        with pytest.raises(AttributeError, match="'FunctionEvent' object has no attribute 'nothing'"):
            events(library).table(sort_by="nothing")


def test_texts_of_events_and_sums():
    same(repr)
    same(str)
    same(lambda made: repr(made.key_averages()))
    same(lambda made: repr(made.total_average()))
    same(lambda made: made.self_cpu_time_total)


def test_attributes():
    names = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_time_str", "cpu_time_total_str", "device_time")
    names += ("self_cpu_time_total_str", "self_cpu_memory_usage", "device_time_total", "self_device_time_total", "key")
    same(lambda made: [[getattr(event, name) for name in names] for event in made])
    same(lambda made: [[getattr(event, name) for name in names if name != "name"] for event in made.key_averages()])


def test_former_names_warn():
    for library in LIBRARIES:
        event = events(library)[0]
        for name in ("cuda_time", "cuda_time_total", "self_cuda_time_total", "self_cuda_memory_usage"):
            with pytest.warns(FutureWarning, match=f"`{name}` is deprecated"):
                assert getattr(event, name) == 0


def nested(library, spans):
    U = util(library)
    made = U.EventList([U.FunctionEvent(i, *span) for i, span in enumerate(spans)])
    made._build_tree()
    return [(event.id, [child.id for child in event.cpu_children]) for event in made]


@pytest.mark.parametrize(
    "spans",
    [
        [("a", 1, 0, 10), ("b", 1, 2, 5), ("c", 1, 5, 10), ("d", 2, 0, 10), ("e", 1, 12, 12)],
        [("a", 1, 0, 10), ("b", 1, 2, 5), ("f", 1, 3, 15), ("g", 1, 4, 5), ("h", 1, 11, 30), ("i", 1, 12, 12)],
        [("a", 1, 0, 10), ("a", 1, 1, 9), ("a", 1, 2, 5), ("b", 1, 6, 7)],
        [("a", 1, 0, 10), ("a", 1, 0, 10), ("a", 1, 0, 10)],
    ],
)
def test_events_are_nested_by_time(spans):
    theirs, ours = (nested(library, spans) for library in LIBRARIES)
    assert ours == theirs


def test_backward_has_the_stacks_of_forward():
    got = []
    for library in LIBRARIES:
        U = util(library)
        made = U.EventList(
            [
                U.FunctionEvent(1, "a", 1, 0, 10, sequence_nr=3, stack=["f", "g"]),
                U.FunctionEvent(2, "aBackward0", 1, 20, 30, sequence_nr=3, scope=1, fwd_thread=1, stack=[]),
            ]
        )
        made._build_tree()
        got.append([event.stack for event in made])
    assert got == [[["f", "g"]] * 2] * 2


def test_sums_want_one_key_and_a_tree():
    for library in LIBRARIES:
        U = util(library)
        total = U.FunctionEventAvg()
        made = events(library)
        total.add(made[0])
        total += made[2]
        assert (total.key, total.count, total.cpu_time) == ("aten::mul", 2, 2600.0)
        with pytest.raises(AssertionError, match="Expected keys to match, but got"):
            total.add(made[1])
        with pytest.raises(AssertionError, match="Expected tree to be built before calling key_averages"):
            U.EventList([U.FunctionEvent(1, "a", 1, 0, 10)]).key_averages()


def test_files_of_stacks(tmp_path):
    texts = []
    for library in LIBRARIES:
        path = tmp_path / library
        events(library).export_stacks(str(path), "self_cpu_time_total")
        texts.append(path.read_text())
        with pytest.raises(ValueError, match="metric should be one of"):
            events(library).export_stacks(str(path), "nothing")
    assert texts[0] == texts[1] == "b;a:_f 80\nb;a:_f 20\nc 5100\n"


def test_a_list_as_a_trace(tmp_path):
    path = tmp_path / "trace.json"
    events("adjoint").export_chrome_trace(str(path))
    found = json.loads(path.read_text())["traceEvents"]
    assert [(event["name"], event["ts"], event["dur"]) for event in found][:2] == [
        ("aten::mul", 0, 100),
        ("aten::empty", 10, 20),
    ]


def test_texts_of_numbers():
    theirs, ours = (util(library) for library in LIBRARIES)
    for time in (0, 0.0004, 1, 999.9996, 1000, 1e6 - 0.1, 1e6, 123456789.0, -5.5, -2000.0):
        assert ours._format_time(time) == theirs._format_time(time)
    for count in (0, 1, 1023, 1024, 1536, 1024**2, 1024**3, 5 * 1024**4, -1, -2048):
        assert ours._format_memory(count) == theirs._format_memory(count)
    for share in ((5, 20), (0, 0)):
        assert ours._format_time_share(*share) == theirs._format_time_share(*share)


def test_small_types():
    for library in LIBRARIES:
        U = util(library)
        assert U.Interval(1, 5).elapsed_us() == 4
        assert U.Kernel("a", 0, 3) == ("a", 0, 3)
        assert U.StringTable()["a"] == "a"
        assert list(U.MemRecordsAcc([]).in_interval(0, 1)) == []
        event = U.FunctionEvent(1, "a", 1, 0, 10)
        event.append_kernel("k", 0, 7)
        assert event.kernels == [("k", 0, 7)]
