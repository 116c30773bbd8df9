"""The tests of Adjoint: most of them run the same calls in torch and compare."""
