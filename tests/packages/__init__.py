"""Packages that people use on torch, run with torch and with Adjoint in its place, and their numbers compared."""
