"""load_state_dict_from_url, under its old name."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
