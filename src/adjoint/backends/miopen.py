"""MIOpen, which computes convolutions on AMD's GPUs: not here."""

immediate = False
