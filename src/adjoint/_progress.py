"""tqdm, for packages that import it from torch.hub, where it is not installed: a number that goes up, on a terminal."""

import sys


class tqdm:
    """Shows how far a loop or a download is, as the package of the same name does, in its simplest form."""

    def __init__(self, iterable=None, total=None, disable=None, unit=None, *args, **kwargs):
        self.iterable, self.n = iterable, 0
        self.total = len(iterable) if total is None and hasattr(iterable, "__len__") else total
        self.disable = not sys.stderr.isatty() if disable is None else disable

    def __iter__(self):
        for item in self.iterable:
            yield item
            self.update(1)
        self.close()

    def update(self, n=1):
        """Goes on by n."""
        self.n += n
        if not self.disable:
            print(
                f"\r{self.n}" + ("" if self.total is None else f" of {self.total}"), end="", file=sys.stderr, flush=True
            )

    def set_description(self, desc=None, refresh=True):
        """Takes a text, and does not show it."""

    set_postfix = set_description

    def close(self):
        """Ends the line."""
        if not self.disable:
            print(file=sys.stderr)
            self.disable = True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
