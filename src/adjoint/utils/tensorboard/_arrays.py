"""Arrays of what programs log: tensors, arrays, numbers and lists; images of all layouts, as PNG."""

import struct
import zlib

import numpy as np

from ... import _C


def make_np(value):
    """An array of a tensor, an array, a list or a number."""
    if isinstance(value, list):
        return np.array(value)
    if isinstance(value, np.ndarray):
        return value
    if np.isscalar(value):
        return np.array([value])
    if isinstance(value, _C.Tensor):
        value = value.detach()
        return (value.float() if value.dtype == _C.bfloat16 else value).cpu().numpy()
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")


def make_grid(images, columns=8):
    """One image (CHW) of many (NCHW), side by side, eight in a row."""
    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, 1)
    count, channels, height, width = images.shape
    columns = min(count, columns)
    rows = -(-count // columns)
    canvas = np.zeros((channels, height * rows, width * columns), dtype=images.dtype)
    for i, image in enumerate(images):
        y, x = i // columns * height, i % columns * width
        canvas[:, y : y + height, x : x + width] = image
    return canvas


def to_hwc(array, layout):
    """An image as height, width and channels, three or four of them."""
    layout = layout.upper()
    if len(set(layout)) != len(layout):
        raise AssertionError(f"You can not use the same dimension shordhand twice. input_format: {layout}")
    if len(array.shape) != len(layout):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {layout}"
        )
    if sorted(layout) not in (sorted("NCHW"), sorted("CHW"), sorted("HW")):
        raise AssertionError(f"input_format: expected a permutation of NCHW, CHW or HW; got {layout}")
    if len(layout) == 2:
        plane = array if layout == "HW" else array.T
        return np.stack([plane] * 3, 2)
    if len(layout) == 4:
        grid = make_grid(array.transpose([layout.index(letter) for letter in "NCHW"]))
        return grid.transpose(1, 2, 0)
    image = array.transpose([layout.index(letter) for letter in "HWC"])
    return np.concatenate([image] * 3, 2) if image.shape[2] == 1 else image


def to_bytes(image):
    """Values from 0 to 1, or bytes as they are, as bytes."""
    scale = 1 if image.dtype == np.uint8 else 255
    return (image.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def png(image):
    """An image of bytes (HWC) as a PNG file."""
    height, width, channels = image.shape
    if channels not in (3, 4):
        raise TypeError(f"Cannot handle this data type: an image with {channels} channels; expected 1, 3 or 4")

    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(image))  # each without a filter
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def drawing(what):
    """The package that draws on images."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise ImportError(f"{what} needs the package pillow; install it with `pip install pillow`") from error
    return Image, ImageDraw
