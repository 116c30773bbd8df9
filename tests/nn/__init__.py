"""Tests of adjoint.nn beside torch.nn."""
