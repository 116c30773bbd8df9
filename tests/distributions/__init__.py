"""Tests of adjoint.distributions beside torch.distributions."""
