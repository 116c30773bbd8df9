"""Figures of matplotlib as arrays."""

import numpy as np


def figures_to_array(figures, close):
    """A figure as CHW, or several, of one size, as NCHW; and that layout."""
    try:
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError as error:
        raise ModuleNotFoundError(
            f"add_figure needs matplotlib, which cannot be imported ({error}); install it with `pip install matplotlib`"
        ) from error

    def drawn(figure):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1).copy()
        if close:
            pyplot.close(figure)
        return pixels

    if isinstance(figures, list):
        return np.stack([drawn(figure) for figure in figures]), "NCHW"
    return drawn(figures), "CHW"
