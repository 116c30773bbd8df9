"""Tests of adjoint.optim: every optimizer beside torch's."""
