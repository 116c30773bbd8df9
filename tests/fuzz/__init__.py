"""Fuzzed calls of every op family, run on torch and on adjoint: the same value, or an exception in both.

families.py       the calls, as a table: names and kinds of arguments
draw.py           the choices of one call: shapes, types, values and views of its tensors
kinds.py          the kinds: plausible and implausible arguments, as source text; kinds_layers.py those of layers
calls.py          a line of Python out of a row of the table
outcomes.py       runs a line on both libraries and says how they differ
accepted.py       the differences that are accepted, each with its reason

python -m tests.fuzz COUNT [SEED] [--only FAMILY]     # a long run; prints differing calls as lines to run
python -m tests.fuzz.crash COUNT [SEED]              # on adjoint alone: programs that make no sense, see crash/
"""
