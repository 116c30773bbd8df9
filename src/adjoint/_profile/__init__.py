"""The parts of adjoint.profiler and adjoint.autograd.profiler: from a trace's log to events and files."""
