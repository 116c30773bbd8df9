"""load_state_dict_from_url, under its old name."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name):
    if name == "tqdm":
        from .. import hub

        return hub.tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
