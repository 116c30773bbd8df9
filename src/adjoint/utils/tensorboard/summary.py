"""What TensorBoard's files consist of: summaries, one function for each kind of data."""

import io
import json
import wave

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ._arrays import drawing, make_grid, make_np, png, to_bytes, to_hwc


def _metadata(plugin, content=b""):
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))


def _shape(sizes):
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def _one(**value):
    return Summary(value=[Summary.Value(**value)])


def scalar(tag, value, new_style=False, double_precision=False):
    """A number."""
    array = make_np(value).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). Was given size: "
            f"{array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return _one(tag=tag, simple_value=number)
    kind = {"double_val": [number], "dtype": "DT_DOUBLE"} if double_precision else {"float_val": [number]}
    tensor = TensorProto(**({"dtype": "DT_FLOAT"} | kind))
    return _one(tag=tag, tensor=tensor, metadata=_metadata("scalars"))


_VALUES = {
    "float16": ("DT_HALF", "half_val", lambda array: array.view(np.uint16)),
    "float32": ("DT_FLOAT", "float_val", np.asarray),
    "float64": ("DT_DOUBLE", "double_val", np.asarray),
    "int8": ("DT_INT8", "int_val", np.asarray),
    "uint8": ("DT_UINT8", "int_val", np.asarray),
    "int16": ("DT_INT16", "int_val", np.asarray),
    "int32": ("DT_INT32", "int_val", np.asarray),
    "int64": ("DT_INT64", "int64_val", np.asarray),
    "bool": ("DT_BOOL", "bool_val", np.asarray),
}


def tensor_proto(tag, tensor):
    """A tensor, with its type and shape."""
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    array = make_np(tensor)
    if str(array.dtype) not in _VALUES:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    kind, field, change = _VALUES[str(array.dtype)]
    values = change(np.ascontiguousarray(array).reshape(-1)).tolist()
    proto = TensorProto(**{"dtype": kind, field: values, "tensor_shape": _shape(tensor.shape)})
    return _one(tag=tag, tensor=proto, metadata=_metadata("tensor"))


def histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """A histogram that was counted already."""
    histo = HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return _one(tag=tag, histo=histo)


def histogram(tag, values, bins, max_bins=None):
    """How many values lie in which bin; empty bins at both ends are left out."""
    values = make_np(values).astype(float).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        padded = np.pad(counts, (0, -len(counts) % step))
        counts = padded.reshape(-1, step).sum(axis=-1)
        limits = np.append(limits[:-1][::step], limits[-1])
    (full,) = np.nonzero(counts)
    if full.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = full[0], full[-1]
    kept = [0, *counts[first : last + 1].tolist()]  # TensorBoard wants an empty bin on the left
    numbers = (values.min(), values.max(), len(values), values.sum(), values.dot(values))
    return histogram_raw(tag, *map(float, numbers), limits[first : last + 2].tolist(), kept)


def _image_of(tag, pixels):
    height, width, channels = pixels.shape
    image = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=png(pixels))
    return _one(tag=tag, image=image)


def image(tag, tensor, dataformats="CHW"):
    """An image, or many of them in a grid."""
    return _image_of(tag, to_bytes(to_hwc(make_np(tensor), dataformats)))


def image_boxes(tag, image_tensor, box_tensor, rescale=1, dataformats="CHW", labels=None):
    """An image with rectangles in it, given as x and y of two corners."""
    Image, ImageDraw = drawing("add_image_with_boxes")
    pixels = to_bytes(to_hwc(make_np(image_tensor), dataformats))
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    draw = ImageDraw.Draw(picture)
    for i, (left, top, right, bottom) in enumerate(make_np(box_tensor).tolist()):
        draw.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
        if labels is not None:
            draw.text((left, top), labels[i], fill="Black")
    if rescale != 1:
        picture = picture.resize((int(picture.width * rescale), int(picture.height * rescale)))
    return _image_of(tag, np.asarray(picture))


def video(tag, tensor, fps=4):
    """Videos (NTCHW) side by side, as a GIF."""
    Image, _ = drawing("add_video")
    frames = make_np(tensor).transpose(1, 0, 2, 3, 4)
    pictures = [Image.fromarray(to_bytes(make_grid(frame).transpose(1, 2, 0))) for frame in frames]
    file = io.BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=1000 / fps, loop=0)
    height, width = pictures[0].height, pictures[0].width
    content = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=file.getvalue())
    return _one(tag=tag, image=content)


def audio(tag, tensor, sample_rate=44100):
    """A sound of one channel, of values from -1 to 1."""
    array = make_np(tensor)
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    array = array.squeeze()
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array * 32767.0).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(sample_rate)
        sound.writeframes(samples.tobytes())
    content = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return _one(tag=tag, audio=content)


def text(tag, words):
    """A text, in Markdown."""
    tensor = TensorProto(dtype="DT_STRING", string_val=[words.encode("utf-8")], tensor_shape=_shape([1]))
    return _one(tag=f"{tag}/text_summary", tensor=tensor, metadata=_metadata("text"))


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127):
    """A curve of precision against recall that was computed already."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    data = np.stack((tp, fp, tn, fn, precision, recall))
    content = PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, 127)).SerializeToString()
    tensor = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(data.shape))
    return _one(tag=tag, tensor=tensor, metadata=_metadata("pr_curves", content))


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """Precision against recall, over thresholds from 0 to 1."""
    num_thresholds = min(num_thresholds, 127)
    labels, predictions = make_np(labels).astype(float), make_np(predictions)
    weights = 1.0 if weights is None else make_np(weights)
    places = np.floor(predictions * (num_thresholds - 1)).astype(np.int32)

    def above(of):
        """How much of it lies at each threshold or above."""
        span = (0, num_thresholds - 1)
        counts, _ = np.histogram(places, bins=num_thresholds, range=span, weights=of * weights)
        return np.cumsum(counts[::-1])[::-1]

    tp, fp = above(labels), above(1.0 - labels)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(1e-7, tp + fp)
    recall = tp / np.maximum(1e-7, tp + fn)
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds)


def mesh(tag, vertices, colors=None, faces=None, config_dict=None):
    """Points in space, with colors, and triangles between them."""
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    parts = [("VERTEX", 1, vertices), ("FACE", 2, faces), ("COLOR", 3, colors)]
    parts = [part for part in parts if part[2] is not None]
    components = sum(1 << kind for _, kind, _ in parts)
    values = []
    for name, kind, tensor in parts:
        if tensor.ndim != 3 or tensor.shape[-1] != 3:
            raise ValueError(f"Tensor shape should be of shape BxNx3, but got {tensor.shape}.")
        array = make_np(tensor)
        content = MeshPluginData(
            version=0,
            name=tag,
            content_type=kind,
            json_config=json.dumps(config_dict or {}, sort_keys=True),
            shape=list(array.shape),
            components=components,
        )
        proto = TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=_shape(array.shape))
        metadata = _metadata("mesh", content.SerializeToString())
        values.append(Summary.Value(tag=f"{tag}_{name}", tensor=proto, metadata=metadata))
    return Summary(value=values)


def custom_scalars(layout):
    """Which scalars are shown together: {category: {chart: [kind, tags]}}."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                content = {"margin": layout_pb2.MarginChartContent(series=[series])}
            else:
                content = {"multiline": layout_pb2.MultilineChartContent(tag=list(tags))}
            made.append(layout_pb2.Chart(title=title, **content))
        categories.append(layout_pb2.Category(title=category, chart=made))
    data = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(dtype="DT_STRING", string_val=[data], tensor_shape=TensorShapeProto())
    return _one(tag="custom_scalars__config__", tensor=tensor, metadata=_metadata("custom_scalars"))
