"""Timing of small pieces of code: Timer runs them, a Measurement says how long it took, Compare makes a table."""

from ._compare import Colorize as Colorize
from ._compare import Compare as Compare
from ._measurement import Measurement as Measurement
from ._measurement import TaskSpec as TaskSpec
from ._measurement import ordered_unique as ordered_unique
from ._measurement import select_unit as select_unit
from ._measurement import set_torch_threads as set_torch_threads
from ._measurement import trim_sigfig as trim_sigfig
from ._measurement import unit_to_english as unit_to_english
from ._timer import Language as Language
from ._timer import Timer as Timer
from ._timer import timer as timer
