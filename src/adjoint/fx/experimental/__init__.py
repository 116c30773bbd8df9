"""Passes that PyTorch counts as experimental: folding of constants, fusion, arguments by name, assertions traced."""
