"""SummaryWriter: writes what a program logs to the files of a folder that TensorBoard shows."""

import os
import socket
import time
import urllib.parse
from datetime import datetime

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import _embedding, summary
from ._arrays import make_np
from ._hparams import hparams


class FileWriter:
    """Writes events to a file of a folder, from a thread of its own."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Writes an event, with its step and its time."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Writes a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self):
        """Waits until all is written."""
        self.event_writer.flush()

    def close(self):
        """Writes what is left, and closes the file."""
        self.event_writer.close()

    def reopen(self):
        """Goes on in a new file after close()."""
        self.event_writer.reopen()


def _default_bins():
    """Limits that grow by a tenth, on both sides of zero."""
    positive = []
    value = 1e-12
    while value < 1e20:
        positive.append(value)
        value *= 1.1
    return [*(-value for value in reversed(positive)), 0.0, *positive]


class SummaryWriter:
    """Logs scalars, histograms, images and more, in files that TensorBoard shows.

    - `log_dir`: the folder; by default one of its own in runs/, named by time, host and `comment`;
    - `purge_step`: lets TensorBoard forget what a run that failed has logged from this step on;
    - `max_queue`, `flush_secs`: how much, and how long, may wait to be written.

    Tensors may be of this package or arrays of NumPy. It is a context manager: the end of the block closes the files.

    `writer = SummaryWriter("runs/one"); writer.add_scalar("loss", 0.5, global_step=1); writer.close()`
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer = self.all_writers = None
        self._get_file_writer()
        self.default_bins = _default_bins()

    def _get_file_writer(self):
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status="START")))
        return self.file_writer

    def _add(self, made, step, walltime=None):
        self._get_file_writer().add_summary(made, step, walltime)

    def get_logdir(self):
        """The folder that is written to."""
        return self.log_dir

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Logs hyperparameters and what came of them, as a run in a folder of its own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        made = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as run:
            for part in made:
                run.file_writer.add_summary(part, global_step)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Logs a number."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Logs several numbers for one chart, each in a folder of its own."""
        self._get_file_writer()
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.file_writer.get_logdir()}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """Logs a tensor as it is."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """Logs how values are distributed; `bins` are limits, a number or a rule of numpy.histogram."""
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag,
        min,
        max,
        num,
        sum,
        sum_squares,
        bucket_limits,
        bucket_counts,
        global_step=None,
        walltime=None,
    ):
        """Logs a histogram that was counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Logs an image of values from 0 to 1, or of bytes."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Logs a batch of images, side by side."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag,
        img_tensor,
        box_tensor,
        global_step=None,
        walltime=None,
        rescale=1,
        dataformats="CHW",
        labels=None,
    ):
        """Logs an image with rectangles, each of (x, y, x, y), in it; it needs pillow."""
        if isinstance(labels, str):
            labels = [labels]
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        made = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Logs a figure of matplotlib, or several, as images."""
        from ._figures import figures_to_array

        array, layout = figures_to_array(figure, close)
        self._add(summary.image(tag, array, layout), global_step, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Logs videos (NTCHW) of values from 0 to 1, or of bytes, as a GIF; it needs pillow."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Logs a sound of values from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Logs a text, in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt):
        """Refuses: ONNX is not read here."""
        raise RuntimeError(f"add_onnx_graph: expected a program without ONNX, which is not read here; got {prototxt!r}")

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Refuses: torch traces modules to TorchScript for it, which is not here. adjoint.inspect draws graphs."""
        raise RuntimeError(
            "add_graph: modules are not traced to TorchScript here, of which TensorBoard's graphs are made; got "
            f"{type(model).__name__}; draw the graph of a result with adjoint.inspect.graph(), and log that"
        )

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Logs vectors, with labels and images, for TensorBoard's projector."""
        mat = make_np(mat)
        step = str(int(global_step or 0)).zfill(5)
        place = f"{step}/{urllib.parse.quote(tag, safe=' ').replace('%2F', '%2f')}"
        folder = os.path.join(self._get_file_writer().get_logdir(), place)
        if os.path.isdir(folder):
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        else:
            os.makedirs(folder)
        if metadata is not None and len(metadata) != mat.shape[0]:
            raise AssertionError("#labels should equal with #data points")
        if label_img is not None and label_img.shape[0] != mat.shape[0]:
            raise AssertionError("#images should equal with #data points")
        if mat.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        if metadata is not None:
            _embedding.write_labels(metadata, metadata_header, folder)
        if label_img is not None:
            _embedding.write_sprite(label_img, folder)
        _embedding.write_vectors(mat, folder)
        lines = _embedding.entry(tag, place, step, metadata is not None, label_img)
        with open(os.path.join(self.file_writer.get_logdir(), "projector_config.pbtxt"), "a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Logs precision against recall of predictions from 0 to 1, for labels of 0 and 1."""
        made = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag,
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        """Logs precision against recall that was computed already."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        made = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds)
        self._add(made, global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Shows scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """Shows a scalar with its lower and its upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout):
        """Shows scalars together: {category: {chart: ["Multiline" or "Margin", tags]}}."""
        self._add(summary.custom_scalars(layout), None)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Logs points in space (BxNx3), with colors and triangles."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def flush(self):
        """Waits until all is written."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Writes what is left, and closes the files; logging more opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
