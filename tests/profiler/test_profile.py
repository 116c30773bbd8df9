"""torch.profiler.profile and torch.autograd.profiler beside torch: schedules, steps, named parts, files, errors."""

import gzip
import itertools
import json
import threading
import warnings

import pytest
import torch

import adjoint

LIBRARIES = (torch, adjoint)


# ---- Schedules


def planned(library, steps, **arguments):
    plan = library.profiler.schedule(**arguments)
    return [plan(step).name for step in range(steps)]


def test_schedules_of_all_small_sizes():
    sizes = itertools.product(range(3), range(1, 3), range(1, 3), range(3), range(3), range(2))
    for wait, warmup, active, repeat, skip_first, skip_first_wait in sizes:
        arguments = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
        arguments |= {"skip_first": skip_first, "skip_first_wait": skip_first_wait}
        theirs, ours = (planned(library, 16, **arguments) for library in LIBRARIES)
        assert ours == theirs, arguments


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}, {"warmup": -1}])
def test_schedules_that_cannot_be(wrong):
    arguments = {"wait": 1, "warmup": 1, "active": 1} | wrong
    texts = []
    for library in LIBRARIES:
        with pytest.raises(AssertionError) as error:
            library.profiler.schedule(**arguments)
        texts.append(str(error.value))
    assert texts[1] == texts[0]
    for library in LIBRARIES:
        with pytest.raises(AssertionError, match=r"Step must be non-negative. Got -1\."):
            library.profiler.schedule(wait=1, warmup=1, active=1)(-1)


def test_a_schedule_without_warmup_warns():
    for library in LIBRARIES:
        with pytest.warns(UserWarning, match="Profiler won't be using warmup"):
            library.profiler.schedule(wait=1, warmup=0, active=1)


def recorded(library, steps, acc_events=False, **arguments):
    """What each call of on_trace_ready sees, and what is left at the end."""
    seen = []

    def names(prof):
        return [event.name for event in prof.events() if not event.name.startswith("aten::")]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of events of earlier cycles, which is said once in a process
        plan = library.profiler.schedule(**arguments)
        handler = lambda prof: seen.append(names(prof))
        with library.profiler.profile(schedule=plan, on_trace_ready=handler, acc_events=acc_events) as prof:
            for step in range(steps):
                with library.profiler.record_function(f"part {step}"):
                    library.ones(2)
                prof.step()
    return seen, names(prof) if prof.profiler is not None else None, prof.step_num


@pytest.mark.parametrize("steps", [0, 1, 3, 6])
@pytest.mark.parametrize(
    "arguments",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 0, "active": 1},
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 1},
        {"wait": 0, "warmup": 1, "active": 1, "repeat": 2},
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1, "skip_first_wait": 1},
        {"wait": 5, "warmup": 1, "active": 1},
    ],
)
def test_which_steps_are_recorded(arguments, steps):
    theirs, ours = (recorded(library, steps, **arguments) for library in LIBRARIES)
    assert ours == theirs


def test_events_of_all_cycles_are_kept_where_asked_for():
    theirs, ours = (recorded(library, 6, acc_events=True, wait=0, warmup=1, active=1) for library in LIBRARIES)
    assert ours == theirs
    assert len(ours[0][-1]) > len(ours[0][0])


def test_events_of_earlier_cycles_are_dropped_with_a_warning(monkeypatch):
    monkeypatch.setattr(adjoint.profiler.profile, "_warned", False)
    plan = adjoint.profiler.schedule(wait=0, warmup=1, active=1)
    with adjoint.profiler.profile(schedule=plan) as prof:
        prof.step()
        with pytest.warns(UserWarning, match="Warning: Profiler clears events at the end of each cycle"):
            prof.step()
        prof.step()


def test_steps_without_a_schedule_are_counted_and_not_named():
    for library in LIBRARIES:
        with library.profiler.profile() as prof:
            prof.step()
            library.ones(2).exp()
            prof.step()
        assert prof.step_num == 2
        names = [event.name for event in prof.events()]
        assert "aten::exp" in names
        assert not any(name.startswith("ProfilerStep") for name in names)


@pytest.mark.parametrize(("first", "second"), [("WARMUP", "NONE"), ("RECORD", "NONE")])
def test_schedules_that_lose_events_warn(first, second):
    for library in LIBRARIES:
        actions = [library.profiler.ProfilerAction[name] for name in (first, second)]
        with (
            pytest.warns(UserWarning, match=f"Incorrect schedule: {first} followed by {second}"),
            library.profiler.profile(schedule=lambda step, actions=actions: actions[step]) as prof,
        ):
            prof.step()


# ---- Named parts


def test_parts_contain_what_they_call():
    for library in LIBRARIES:

        def part(L):
            with L.profiler.record_function("outer"):
                y = L.ones(3) * 2 + 4
                with L.profiler.record_function("inner", "with words"):
                    y = y - 1
            return y / 1

        with library.profiler.profile(record_shapes=True) as prof:
            part(library)
        wanted = ("outer", "aten::mul", "aten::add", "inner", "aten::sub", "aten::div")
        assert [event.name for event in prof.events() if event.name in wanted] == list(wanted)
        by_name = {event.name: event for event in prof.events()}
        assert by_name["inner"].cpu_parent is by_name["outer"]
        assert by_name["aten::sub"].cpu_parent is by_name["inner"]
        assert by_name["aten::div"].cpu_parent is None
        assert (by_name["outer"].input_shapes, by_name["inner"].input_shapes) == ([], [[]])
        assert by_name["outer"].is_user_annotation
        assert by_name["outer"].scope == 7
        assert by_name["outer"].count == 1


def test_functions_are_decorated():
    for library in LIBRARIES:

        @library.profiler.record_function("my function")
        def double(x):
            return x + x

        with library.autograd.profiler.profile() as prof:
            double(2)
            double(3)
        assert [event.name for event in prof.function_events] == ["my function"] * 2
        assert "my function" in str(prof)


def test_parts_go_on_over_blocks():
    for library in LIBRARIES:
        part = library.profiler.record_function("part")
        with library.profiler.profile() as prof:
            part.__enter__()
            library.ones(2).exp()
            part.__exit__(None, None, None)
        assert prof.events()[0].name == "part"


def test_a_part_that_began_before_the_profiler_is_not_seen():
    with adjoint.profiler.record_function("before"), adjoint.profiler.profile() as prof:
        adjoint.ones(2).exp()
    assert "before" not in [event.name for event in prof.events()]


def test_a_part_that_is_open_at_the_end_ends_there():
    part = adjoint.profiler.record_function("open")
    with adjoint.profiler.profile() as prof:
        part.__enter__()
        adjoint.ones(2).exp()
    part.__exit__(None, None, None)
    opened = next(event for event in prof.events() if event.name == "open")
    assert [child.name for child in opened.cpu_children] == ["aten::ones", "aten::exp"]


def test_parts_by_the_ops_of_profilers():
    for library in LIBRARIES:
        ops = library.ops.profiler
        with library.profiler.profile() as prof:
            for begin in (ops._record_function_enter, ops._record_function_enter_new):
                record = begin("part", None)
                library.ones(2).exp()
                ops._record_function_exit(record)
            record = library.autograd._record_function_with_args_enter("with arguments", 1, "x")
            library.autograd._record_function_with_args_exit(record)
        names = [event.name for event in prof.events() if event.is_user_annotation]
        assert names == ["part", "part", "with arguments"]


def test_parts_want_texts():
    for library in LIBRARIES:
        for arguments, name, kind in (((3,), "name", "str"), (("a", 3), "args", "Optional\\[str\\]")):
            words = f"Expected a value of type '{kind}' for argument '{name}' but instead found type 'int'"
            with pytest.raises(RuntimeError, match=words):
                library.profiler.record_function(*arguments).__enter__()
        with pytest.raises(AssertionError, match="Expected record to be set"):
            library.profiler.record_function("a").__exit__(None, None, None)


# ---- The profiler of autograd


def test_the_profiler_of_autograd():
    for library in LIBRARIES:
        with library.autograd.profiler.profile() as prof:
            assert library.autograd._profiler_enabled()
            y = library.ones(3) * 2 + 4
        assert not library.autograd._profiler_enabled()
        names = [event.name for event in prof.function_events]
        assert {"aten::mul", "aten::add"} <= set(names)
        assert prof.table() == str(prof)
        assert prof.self_cpu_time_total > 0
        assert prof.total_average().key == "Total"
        assert y.shape == (3,)
        with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
            prof.__enter__()


def test_a_profiler_that_has_not_run():
    for library in LIBRARIES:
        prof = library.autograd.profiler.profile()
        assert repr(prof) == str(prof) == "<unfinished torch.autograd.profile>"
        assert prof.table() == ""
        assert prof.self_cpu_time_total == 0
        with library.autograd.profiler.profile(enabled=False) as nothing:
            library.ones(2)
        assert nothing is None


def test_what_is_not_here_warns_or_is_refused():
    for library in LIBRARIES:
        profiler = library.autograd.profiler
        with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
            profiler.profile(use_device="cuda")
        with (
            pytest.warns(FutureWarning, match="The attribute `use_cuda` will be deprecated soon"),
            pytest.warns(UserWarning, match="CUDA is not available"),
        ):
            profiler.profile(use_cuda=True)
        with pytest.raises(AssertionError, match="Device-only events supported only with Kineto"):
            profiler.profile(use_cpu=False)
        with profiler.emit_itt():
            library.ones(2)
        with (
            pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"),
            profiler.emit_nvtx(),
        ):
            library.ones(2)
        with pytest.warns(FutureWarning, match="`use_cuda` is deprecated, use `activities` argument instead"):
            library.profiler.profile(use_cuda=False)
        with pytest.raises(AssertionError, match="No valid profiler activities found"):
            library.profiler.profile(activities=[])
    with pytest.raises(RuntimeError, match="load_nvprof"):
        adjoint.autograd.profiler.load_nvprof("nothing")


def test_before_a_start_there_is_nothing():
    for library in LIBRARIES:
        prof = library.profiler.profile()
        for call, words in (
            (prof.stop, "stopping trace"),
            (prof.events, "accessing events"),
            (prof.key_averages, "getting key averages"),
            (lambda prof=prof: prof.export_chrome_trace("x"), "exporting chrome trace"),
            (lambda prof=prof: prof.export_stacks("x"), "exporting stacks"),
        ):
            with pytest.raises(AssertionError, match=f"Profiler must be initialized before {words}"):
                call()


def test_names_of_the_module():
    for library in LIBRARIES:
        assert library.profiler.supported_activities() == {library.profiler.ProfilerActivity.CPU}
        assert library.profiler.kineto_available()
        assert [action.name for action in library.profiler.ProfilerAction][:4] == [
            *("NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"),
        ]
        assert repr(library.profiler.ProfilerActivity.CPU) == "<ProfilerActivity.CPU: 0>"
        assert str(library.profiler.DeviceType.CPU) == "DeviceType.CPU"
        tracker = (
            library.profiler.KinetoStepTracker if library is adjoint else torch.autograd.profiler.KinetoStepTracker
        )
        tracker.init_step_count("loop")
        before = tracker.current_step()
        assert tracker.increment_step("loop") == before + 1
        assert tracker.erase_step_count("loop")
        assert not tracker.erase_step_count("loop")


def test_only_the_thread_that_started_it_is_seen():
    for library in LIBRARIES:
        with library.profiler.profile() as prof:
            thread = threading.Thread(target=lambda L=library: L.ones(2).exp())
            thread.start()
            thread.join()
            library.ones(2).sqrt()
        names = [event.name for event in prof.events()]
        assert "aten::sqrt" in names
        assert "aten::exp" not in names


def test_a_profiler_looks_away_and_looks_again():
    activities = [adjoint.profiler.ProfilerActivity.CPU]
    with adjoint.profiler.profile() as prof:
        adjoint.ones(2).exp()
        prof.toggle_collection_dynamic(False, activities)
        adjoint.ones(2).sqrt()
        prof.toggle_collection_dynamic(True, activities)
        adjoint.ones(2).log()
    names = [event.name for event in prof.events()]
    assert ("aten::exp" in names, "aten::sqrt" in names, "aten::log" in names) == (True, False, True)


def test_profilers_inside_of_profilers_each_see_all():
    with adjoint.profiler.profile() as outer:
        adjoint.ones(2).exp()
        with adjoint.profiler.profile() as inner:
            adjoint.ones(2).sqrt()
    assert [event.name for event in inner.events()][-1] == "aten::sqrt"
    assert {"aten::exp", "aten::sqrt"} <= {event.name for event in outer.events()}


# ---- Files


def program(L):
    x = L.ones(4, 5, requires_grad=True)
    with L.profiler.record_function("part", "words"):
        (x * 2).sum((0,)).sum().backward()
    L.cat([x, x])


def written(library, path, **options):
    with library.profiler.profile(record_shapes=True, profile_memory=True, **options) as prof:
        program(library)
        prof.add_metadata("key", "text")
        prof.add_metadata_json("data", '{"a": [1, 2]}')
    prof.export_chrome_trace(str(path))
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return json.load(file)


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_traces_have_torchs_kinds_of_events(tmp_path, suffix):
    theirs, ours = (written(library, tmp_path / (library.__name__ + suffix)) for library in LIBRARIES)
    assert set(ours) == set(theirs)
    assert ours["key"] == theirs["key"] == "text"
    assert ours["data"] == theirs["data"] == {"a": [1, 2]}

    def kinds(trace):
        return {(event["ph"], event.get("cat"), tuple(sorted(event))) for event in trace["traceEvents"]}

    assert kinds(ours) == kinds(theirs)

    def meta(trace):
        return {event["name"] for event in trace["traceEvents"] if event["ph"] in "Mi"}

    assert meta(ours) == meta(theirs)


def test_traces_have_torchs_arguments(tmp_path):
    got = []
    for library in LIBRARIES:
        trace = written(library, tmp_path / f"{library.__name__}.json")
        found = {}
        for event in trace["traceEvents"]:
            if event["name"] in ("aten::cat", "aten::sum", "SumBackward1", "part"):
                args = {key: event["args"].get(key) for key in ("Concrete Inputs", "Input Dims", "Input type")}
                found.setdefault(event["name"], args | {"numbered": "Sequence number" in event["args"]})
        got.append(found)
    theirs, ours = got
    assert ours["aten::cat"] == theirs["aten::cat"]
    assert ours["aten::sum"] == theirs["aten::sum"]
    assert ours["SumBackward1"]["Input Dims"] == theirs["SumBackward1"]["Input Dims"] == [[5]]


def test_arrows_go_from_forward_to_backward(tmp_path):
    for library in LIBRARIES:
        trace = written(library, tmp_path / f"{library.__name__}.json")
        arrows = [event for event in trace["traceEvents"] if event.get("cat") == "fwdbwd"]
        starts = {event["id"]: event["ts"] for event in arrows if event["ph"] == "s"}
        ends = {event["id"]: event["ts"] for event in arrows if event["ph"] == "f"}
        assert len(starts) == 3
        assert set(starts) == set(ends)
        assert all(starts[number] < ends[number] for number in starts)


def test_python_calls_are_events(tmp_path):
    def called(L):
        return L.nn.Linear(3, 3)(L.ones(1, 3))

    for library in LIBRARIES:
        with library.profiler.profile(with_stack=True) as prof:
            called(library)
        names = [event.name for event in prof.events()]
        assert any(name.endswith(": called") and "test_profile.py(" in name for name in names)
        assert "nn.Module: Linear_0" in names
        linear = next(event for event in prof.events() if event.name == "aten::linear")
        around = linear
        found = []
        while around is not None:
            found.append(around.name)
            around = around.cpu_parent
        assert "nn.Module: Linear_0" in found
        assert any(name.endswith(": called") for name in found)
        path = tmp_path / f"{library.__name__}.json"
        prof.export_chrome_trace(str(path))
        kinds = {event.get("cat") for event in json.loads(path.read_text())["traceEvents"]}
        assert "python_function" in kinds


def verbose(library):
    if library is torch:
        return torch._C._profiler._ExperimentalConfig(verbose=True)
    return adjoint.profiler._ExperimentalConfig(verbose=True)


def test_stacks(tmp_path):
    def called(L):
        return L.ones(300, 300).exp()

    for library in LIBRARIES:
        with library.profiler.profile(with_stack=True, experimental_config=verbose(library)) as prof:
            called(library)
        event = next(event for event in prof.events() if event.name == "aten::exp")
        assert any(entry.endswith(": called") for entry in event.stack)
        table = prof.key_averages(group_by_stack_n=3).table()
        assert "Source Location" in table
        path = tmp_path / library.__name__
        prof.export_stacks(str(path))
        assert ":_called" in path.read_text()
        with library.profiler.profile() as plain:
            called(library)
        with pytest.raises(AssertionError, match="export_stacks\\(\\) requires with_stack=True"):
            plain.export_stacks(str(path))


def test_files_for_tensorboard(tmp_path):
    for library in LIBRARIES:
        folder = tmp_path / library.__name__
        handler = library.profiler.tensorboard_trace_handler(str(folder), worker_name="me", use_gzip=True)
        with library.profiler.profile(on_trace_ready=handler):
            library.ones(2)
        (path,) = folder.iterdir()
        assert path.name.startswith("me.")
        assert path.name.endswith(".pt.trace.json.gz")
        blocked = tmp_path / f"{library.__name__} file"
        blocked.write_text("")
        with (
            pytest.raises(RuntimeError, match="Can't create directory"),
            library.profiler.profile(on_trace_ready=library.profiler.tensorboard_trace_handler(str(blocked))),
        ):
            library.ones(2)


def test_metadata_must_be_what_it_says():
    with adjoint.profiler.profile() as prof:
        with pytest.raises(AttributeError, match="no attribute 'replace'"):
            prof.add_metadata("key", 3)
        with pytest.raises(ValueError, match="expected JSON"):
            prof.add_metadata_json("key", "{bad")


def test_grouping_by_shapes():
    got = []
    for library in LIBRARIES:
        with library.profiler.profile(record_shapes=True) as prof:
            for n in (2, 2, 3):
                library.ones(n).exp()
        rows = prof.key_averages(group_by_input_shape=True)
        got.append([(row.key, row.input_shapes, row.count) for row in rows if row.key == "aten::exp"])
    assert got[0] == got[1] == [("aten::exp", [[2]], 2), ("aten::exp", [[3]], 1)]
