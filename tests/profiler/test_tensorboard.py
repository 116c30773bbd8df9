"""SummaryWriter, over a stand-in for the package tensorboard: which messages it makes, which files it writes."""

import ast
import importlib
import struct
import sys
import zlib

import numpy as np
import pytest

import adjoint as torch

from . import board


@pytest.fixture
def writer_type(monkeypatch):
    """The type of writers of the stand-in; forgotten with everything that was imported over it."""
    yield board.install(monkeypatch)
    for name in list(sys.modules):
        if name.startswith("adjoint.utils.tensorboard"):
            del sys.modules[name]


@pytest.fixture
def tensorboard(writer_type):
    return importlib.import_module("adjoint.utils.tensorboard")


@pytest.fixture
def writer(tensorboard, tmp_path):
    with tensorboard.SummaryWriter(str(tmp_path)) as made:
        yield made


def logged(writer, folder=None):
    """The events of a folder as plain data, without their time."""
    events = writer.file_writer.event_writer.files[folder or writer.get_logdir()]
    return [{name: value for name, value in board.plain(event).items() if name != "wall_time"} for event in events]


def value(writer):
    """The only value of the last event."""
    (found,) = logged(writer)[-1]["summary"]["value"]
    return found


def test_without_the_package_the_import_says_what_to_do(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "tensorboard" or name.startswith("adjoint.utils.tensorboard"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ImportError, match="install it with `pip install tensorboard`"):
        importlib.import_module("adjoint.utils.tensorboard")


@pytest.mark.parametrize("number", [1.5, torch.tensor(1.5), torch.tensor([1.5]), np.float32(1.5), np.array(1.5)])
def test_scalars(writer, number):
    writer.add_scalar("loss", number, 3)
    assert logged(writer) == [{"step": 3, "summary": {"value": [{"tag": "loss", "simple_value": 1.5}]}}]


def test_scalars_with_a_step_and_a_time(writer):
    writer.add_scalar("loss", 1, torch.tensor(7), walltime=2.5)
    event = writer.file_writer.event_writer.files[writer.get_logdir()][-1]
    assert (event.step, event.wall_time) == (7, 2.5)


def test_scalars_of_the_new_style(writer):
    writer.add_scalar("a", 2, 1, new_style=True)
    plugin = {"plugin_data": {"plugin_name": "scalars", "content": b""}}
    assert value(writer) == {"tag": "a", "tensor": {"dtype": "DT_FLOAT", "float_val": [2.0]}, "metadata": plugin}
    writer.add_scalar("a", 2, 1, new_style=True, double_precision=True)
    assert value(writer)["tensor"] == {"dtype": "DT_DOUBLE", "double_val": [2.0]}


def test_what_is_no_scalar(writer):
    with pytest.raises(AssertionError, match="Tensor should contain one element"):
        writer.add_scalar("a", torch.ones(2))
    with pytest.raises(NotImplementedError, match="but numpy array or torch tensor are expected"):
        writer.add_scalar("a", None)
    with pytest.raises(ValueError, match="could not convert string to float"):
        writer.add_scalar("a", "x")


def test_scalars_of_one_chart_have_folders_of_their_own(writer):
    writer.add_scalars("a/b", {"x": 1.0, "y": torch.tensor(2.0)}, 2)
    for tag, number in (("x", 1.0), ("y", 2.0)):
        (event,) = logged(writer, f"{writer.get_logdir()}/a_b_{tag}")
        assert event == {"step": 2, "summary": {"value": [{"tag": "a/b", "simple_value": number}]}}


def test_histograms(writer):
    values = torch.arange(100.0) / 10
    writer.add_histogram("h", values, 1, bins=5)
    histogram = value(writer)["histo"]
    assert histogram["bucket"] == [0, 20, 20, 20, 20, 20]
    assert histogram["bucket_limit"] == pytest.approx([0.0, 1.98, 3.96, 5.94, 7.92, 9.9])
    assert (histogram["min"], histogram["num"]) == (0.0, 100.0)
    assert histogram["sum"] == pytest.approx(495)
    assert histogram["sum_squares"] == pytest.approx(3283.5)
    writer.add_histogram("h", values, 1, bins=50, max_bins=10)
    assert value(writer)["histo"]["bucket"] == [0, *[10] * 10]
    writer.add_histogram("h", torch.zeros(5), 1)
    assert value(writer)["histo"] | {"bucket": [0, 5], "bucket_limit": [0.0, 1e-12]} == value(writer)["histo"]
    assert len(writer.default_bins) == 1549
    with pytest.raises(ValueError, match="The input has no element"):
        writer.add_histogram("h", torch.ones(0))


def test_histograms_that_were_counted_already(writer):
    writer.add_histogram_raw("r", 0.0, 3.0, 4, 6.0, 14.0, [1.0, 2.0, 3.0], [1, 2, 1], 5)
    assert value(writer)["histo"]["bucket"] == [1, 2, 1]
    with pytest.raises(ValueError, match=r"len\(bucket_limits\) != len\(bucket_counts\)"):
        writer.add_histogram_raw("r", 0.0, 3.0, 4, 6.0, 14.0, [1.0], [1, 2, 1], 5)


def pixels(data):
    """The bytes of a PNG file, by channel."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    place, found = 8, {}
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert struct.unpack(">I", data[place + 8 + length :][:4]) == (zlib.crc32(kind + content),)
        found[kind] = content
        place += 12 + length
    width, height, depth, color = struct.unpack(">IIBB", found[b"IHDR"][:10])
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, {2: 3, 6: 4}[color])


IMAGE = torch.arange(48.0).reshape(3, 4, 4) / 48


@pytest.mark.parametrize(
    ("image", "layout"),
    [
        (IMAGE, "CHW"),
        (IMAGE.permute(1, 2, 0), "HWC"),
        (IMAGE.permute(2, 1, 0), "WHC"),
        ((IMAGE * 255).to(torch.uint8), "CHW"),
        (IMAGE.numpy(), "CHW"),
    ],
)
def test_images_of_all_layouts(writer, image, layout):
    writer.add_image("i", image, 1, dataformats=layout)
    found = value(writer)["image"]
    assert (found["height"], found["width"], found["colorspace"]) == (4, 4, 3)
    expected = (IMAGE.permute(1, 2, 0).numpy() * 255).astype(np.uint8)
    assert np.array_equal(pixels(found["encoded_image_string"]), expected)


def test_gray_images_and_those_with_a_mask(writer):
    for image, layout in ((IMAGE[0], "HW"), (IMAGE[:1], "CHW")):
        writer.add_image("i", image, 1, dataformats=layout)
        found = pixels(value(writer)["image"]["encoded_image_string"])
        assert np.array_equal(found[:, :, 0], found[:, :, 2])
    writer.add_image("i", torch.ones(4, 2, 2))
    assert pixels(value(writer)["image"]["encoded_image_string"]).shape == (2, 2, 4)


def test_batches_of_images_lie_side_by_side(writer):
    writer.add_images("i", IMAGE[None].repeat(10, 1, 1, 1), 1)
    found = value(writer)["image"]
    assert (found["height"], found["width"]) == (8, 32)
    grid = pixels(found["encoded_image_string"])
    assert np.array_equal(grid[:4, :4], grid[4:, 4:8])
    assert not grid[4:, 8:].any()


def test_what_is_no_image(writer):
    with pytest.raises(AssertionError, match="size of input tensor and input format are different"):
        writer.add_image("i", torch.ones(2, 2))
    with pytest.raises(AssertionError, match="same dimension"):
        writer.add_image("i", torch.ones(2, 2), dataformats="HH")
    with pytest.raises(AssertionError, match="expected a permutation"):
        writer.add_image("i", torch.ones(2, 2), dataformats="XY")
    with pytest.raises(TypeError, match="Cannot handle this data type"):
        writer.add_image("i", torch.ones(5, 2, 2))


def test_texts(writer):
    writer.add_text("t", "some *words*", 1)
    assert value(writer) == {
        "tag": "t/text_summary",
        "tensor": {"dtype": "DT_STRING", "string_val": [b"some *words*"], "tensor_shape": {"dim": [{"size": 1}]}},
        "metadata": {"plugin_data": {"plugin_name": "text", "content": b""}},
    }


def test_sounds(writer, capsys):
    writer.add_audio("s", torch.tensor([0.0, 0.5, -1.0, 2.0]), 1, sample_rate=8000)
    found = value(writer)["audio"]
    assert (found["sample_rate"], found["length_frames"], found["content_type"]) == (8000, 4, "audio/wav")
    assert np.frombuffer(found["encoded_audio_string"][-8:], "<i2").tolist() == [0, 16383, -32767, 32767]
    assert "auto clipped" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="input tensor should be 1 dimensional"):
        writer.add_audio("s", torch.ones(2, 3))


def test_tensors(writer):
    writer.add_tensor("t", torch.tensor([[1, 2], [3, 4]]), 1)
    assert value(writer)["tensor"] == {
        "dtype": "DT_INT64",
        "int64_val": [1, 2, 3, 4],
        "tensor_shape": {"dim": [{"size": 2}, {"size": 2}]},
    }
    with pytest.raises(ValueError, match="unsupported tensor dtype"):
        writer.add_tensor("t", torch.ones(2, dtype=torch.complex64))


def test_precision_against_recall(writer):
    labels, predictions = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.9, 0.6, 0.4, 0.3])
    writer.add_pr_curve("p", labels, predictions, 1, num_thresholds=5)
    rows = np.array(value(writer)["tensor"]["float_val"]).reshape(6, 5)
    assert rows[:4].tolist() == [[3, 3, 2, 1, 0], [2, 1, 0, 0, 0], [0, 1, 2, 2, 2], [0, 0, 1, 2, 3]]
    assert rows[4] == pytest.approx([0.6, 0.75, 1, 1, 0])
    assert rows[5] == pytest.approx([1, 1, 2 / 3, 1 / 3, 0])
    assert value(writer)["metadata"]["plugin_data"]["plugin_name"] == "pr_curves"
    writer.add_pr_curve("p", labels, predictions, 1, num_thresholds=5, weights=torch.tensor([1.0, 2.0, 1.0, 1.0, 1.0]))
    assert value(writer)["tensor"]["float_val"][:5] == [4, 4, 3, 2, 0]
    writer.add_pr_curve_raw("p", [1, 2], [3, 4], [5, 6], [7, 8], [0.5, 0.6], [0.1, 0.2], 1, num_thresholds=2)
    assert value(writer)["tensor"]["float_val"][:4] == [1, 2, 3, 4]


def content(found):
    """What a plugin is told; the stand-in writes messages as Python."""
    return ast.literal_eval(found["metadata"]["plugin_data"]["content"].decode())


def test_meshes(writer):
    points, colors, faces = torch.arange(9.0).reshape(1, 3, 3), torch.zeros(1, 3, 3), torch.tensor([[[0, 1, 2]]])
    writer.add_mesh("m", points, colors=colors, faces=faces, config_dict={"k": 1}, global_step=1)
    values = logged(writer)[-1]["summary"]["value"]
    assert [found["tag"] for found in values] == ["m_VERTEX", "m_FACE", "m_COLOR"]
    assert [content(found)["content_type"] for found in values] == [1, 2, 3]
    assert {content(found)["components"] for found in values} == {14}
    assert content(values[1])["shape"] == [1, 1, 3]
    assert content(values[0])["json_config"] == '{"k": 1}'
    writer.add_mesh("m", points)
    assert content(value(writer))["components"] == 2
    with pytest.raises(ValueError, match="Tensor shape should be of shape BxNx3"):
        writer.add_mesh("m", torch.ones(3, 3))


def test_charts_of_scalars(writer):
    writer.add_custom_scalars({"c": {"lines": ["Multiline", ["a", "b"]], "band": ["Margin", ["a", "b", "c"]]}})
    (text,) = value(writer)["tensor"]["string_val"]
    assert ast.literal_eval(text.decode()) == {
        "category": [
            {
                "title": "c",
                "chart": [
                    {"title": "lines", "multiline": {"tag": ["a", "b"]}},
                    {"title": "band", "margin": {"series": [{"value": "a", "lower": "b", "upper": "c"}]}},
                ],
            }
        ]
    }
    writer.add_custom_scalars_multilinechart(["a"], title="t")
    writer.add_custom_scalars_marginchart(["a", "b", "c"])
    assert value(writer)["tag"] == "custom_scalars__config__"
    with pytest.raises(AssertionError, match="Expected 3 tags, got 2"):
        writer.add_custom_scalars_marginchart(["a", "b"])


def test_hyperparameters_are_a_run_of_their_own(writer):
    given = {"lr": 0.1, "opt": "sgd", "flag": True, "t": torch.tensor(1.5), "left": None}
    domains = {"lr": [0.1, 0.2], "opt": ["sgd", "adam"]}
    writer.add_hparams(given, {"acc": 0.5}, domains, run_name="run", global_step=3)
    events = logged(writer, f"{writer.get_logdir()}/run")
    values = [event["summary"]["value"][0] for event in events]
    assert [found["tag"] for found in values] == [
        "_hparams_/experiment",
        "_hparams_/session_start_info",
        "_hparams_/session_end_info",
        "acc",
    ]
    experiment = content(values[0])["experiment"]
    assert experiment["hparam_infos"][0] == {
        "name": "lr",
        "type": "DATA_TYPE_FLOAT64",
        "domain_discrete": {"values": [{"number_value": 0.1}, {"number_value": 0.2}]},
    }
    assert [info["name"] for info in experiment["hparam_infos"]] == ["lr", "opt", "flag", "t"]
    assert experiment["metric_infos"] == [{"name": {"tag": "acc"}}]
    assert content(values[1])["session_start_info"]["hparams"] == {
        "lr": {"number_value": 0.1},
        "opt": {"string_value": "sgd"},
        "flag": {"number_value": 1.0},
        "t": {"number_value": 1.5},
    }
    assert {event["step"] for event in events} == {3}


def test_what_are_no_hyperparameters(writer):
    with pytest.raises(TypeError, match="hparam_dict and metric_dict should be dictionary"):
        writer.add_hparams([1], {})
    with pytest.raises(TypeError, match=r"hparam_domain_discrete\[c\] should be a list of same type"):
        writer.add_hparams({"a": 1}, {"b": 1}, hparam_domain_discrete={"c": [1]})
    with pytest.raises(ValueError, match=r"value should be one of int, float, str, bool, or torch\.Tensor"):
        writer.add_hparams({"a": [1]}, {"b": 1})


def test_embeddings_are_files(writer, tmp_path, capsys):
    points = torch.arange(12.0).reshape(4, 3)
    writer.add_embedding(points, ["a", "b", "c", "d"], torch.rand(4, 3, 2, 2), global_step=1, tag="e")
    folder = tmp_path / "00001" / "e"
    assert (folder / "tensors.tsv").read_text() == "0.0\t1.0\t2.0\n3.0\t4.0\t5.0\n6.0\t7.0\t8.0\n9.0\t10.0\t11.0\n"
    assert (folder / "metadata.tsv").read_text() == "a\nb\nc\nd\n"
    assert pixels((folder / "sprite.png").read_bytes()).shape == (4, 4, 3)
    assert (tmp_path / "projector_config.pbtxt").read_text() == (
        'embeddings {\n  tensor_name: "e:00001"\n  metadata_path: "00001/e/metadata.tsv"\n  sprite {\n'
        '    image_path: "00001/e/sprite.png"\n    single_image_dim: 2\n    single_image_dim: 2\n  }\n'
        '  tensor_path: "00001/e/tensors.tsv"\n}\n'
    )
    writer.add_embedding(np.ones((2, 2)), [["a", 1], ["b", 2]], metadata_header=["n", "v"])
    assert (tmp_path / "00000" / "default" / "metadata.tsv").read_text() == "n\tv\na\t1\nb\t2\n"
    writer.add_embedding(np.ones((2, 2)))
    assert "Embedding dir exists" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="#labels should equal with #data points"):
        writer.add_embedding(points, ["a"], global_step=5)
    with pytest.raises(AssertionError, match="#images should equal with #data points"):
        writer.add_embedding(points, label_img=torch.ones(3, 3, 2, 2), global_step=6)
    with pytest.raises(AssertionError, match="mat should be 2D"):
        writer.add_embedding(torch.ones(2), global_step=7)


def test_graphs_are_refused(writer):
    with pytest.raises(RuntimeError, match="add_graph: modules are not traced to TorchScript here"):
        writer.add_graph(torch.nn.Linear(2, 2), torch.ones(1, 2))
    with pytest.raises(RuntimeError, match="add_onnx_graph"):
        writer.add_onnx_graph("x")


def test_figures_need_matplotlib(writer, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match="add_figure needs matplotlib"):
        writer.add_figure("f", None)


def test_drawing_needs_pillow(writer, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    for call in (
        lambda: writer.add_image_with_boxes("b", IMAGE, torch.ones(1, 4)),
        lambda: writer.add_video("v", torch.ones(1, 2, 3, 4, 4)),
    ):
        with pytest.raises(ImportError, match="needs the package pillow"):
            call()


def test_runs_are_purged_closed_and_opened_again(tensorboard, writer_type, tmp_path):
    folder = str(tmp_path / "run")
    writer = tensorboard.SummaryWriter(folder, purge_step=5)
    purge = [board.plain(event) for event in writer_type.files[folder]]
    assert [(event["step"], "session_log" in event) for event in purge] == [(5, False), (5, True)]
    writer.add_scalars("g", {"x": 1})
    writer.flush()
    writer.close()
    assert writer_type.closed == {folder: 1, f"{folder}/g_x": 1}
    writer.close()
    assert writer_type.closed[folder] == 1
    writer.add_scalar("late", 1, 1)
    assert len(writer_type.files[folder]) == 3
    writer.close()
    assert writer_type.closed[folder] == 2


def test_folders_have_names_by_default(tensorboard, writer_type, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tensorboard.SummaryWriter(comment="-mine", filename_suffix=".x", max_queue=3, flush_secs=4) as writer:
        assert writer.get_logdir().startswith("runs/")
        assert writer.get_logdir().endswith("-mine")
        assert writer.file_writer.event_writer.options == (3, 4, ".x")
    assert tensorboard.FileWriter("f").get_logdir() == "f"
