"""Passes that know what ops mean."""
