"""Points for TensorBoard's projector: vectors, labels and small images, as files beside the events."""

import math
import os

import numpy as np

from ._arrays import make_np, png, to_bytes


def write_vectors(vectors, folder):
    lines = ["\t".join(str(value) for value in vector) for vector in vectors.tolist()]
    _write(os.path.join(folder, "tensors.tsv"), lines)


def write_labels(metadata, header, folder):
    """A label for each vector, or a list of them under a header."""
    if header:
        lines = ["\t".join(header), *("\t".join(str(entry) for entry in row) for row in metadata)]
    else:
        lines = [str(entry) for entry in metadata]
    _write(os.path.join(folder, "metadata.tsv"), lines)


def _write(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_sprite(images, folder):
    """All images (NCHW) in one that is about square."""
    array = make_np(images)
    if array.shape[2] != array.shape[3]:
        raise AssertionError("Image should be square, see tensorflow/tensorboard#670")
    columns = math.ceil(math.sqrt(len(array)))
    size = array.shape[2]
    canvas = np.zeros((3, columns * size, columns * size), dtype=array.dtype)
    for i, image in enumerate(array):
        y, x = i // columns * size, i % columns * size
        canvas[:, y : y + size, x : x + size] = image
    with open(os.path.join(folder, "sprite.png"), "wb") as file:
        file.write(png(to_bytes(canvas.transpose(1, 2, 0))))


def entry(tag, place, step, has_labels, images):
    """The lines of the projector's configuration for these files."""
    lines = ["embeddings {", f'  tensor_name: "{tag}:{step}"']
    if has_labels:
        lines.append(f'  metadata_path: "{place}/metadata.tsv"')
    if images is not None:
        height, width = images.shape[2:]
        lines += ["  sprite {", f'    image_path: "{place}/sprite.png"']
        lines += [f"    single_image_dim: {width}", f"    single_image_dim: {height}", "  }"]
    return [*lines, f'  tensor_path: "{place}/tensors.tsv"', "}"]
