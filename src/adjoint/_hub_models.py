"""torch.hub.load: models that a folder describes in its hubconf.py. Code from the network is not run."""

import importlib.util
import os
import sys

_ADVICE = (
    "code is not downloaded and run here; clone the repository, look at it, and load the model by "
    'torch.hub.load("path/of/the/clone", model, source="local")'
)


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo="check",
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """What a function of the hubconf.py in a folder returns: `source` must be "local".

    >>> import adjoint as torch, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> text = "import adjoint" + chr(10) + "def layer(n): return adjoint.nn.Linear(n, 1)"
    >>> _ = (folder / "hubconf.py").write_text(text)
    >>> torch.hub.load(folder, "layer", 2, source="local")
    Linear(in_features=2, out_features=1, bias=True)
    """
    if str(source).lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if str(source).lower() == "github":
        raise NotImplementedError(f"torch.hub.load({str(repo_or_dir)!r}): {_ADVICE}")
    return _entry(_configuration(repo_or_dir), model)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True):
    """Raises: what a repository on the network offers is not looked up.

    >>> import adjoint as torch
    >>> try:
    ...     torch.hub.list("owner/name")
    ... except NotImplementedError as error:
    ...     print(str(error).split(";")[0])
    torch.hub.list('owner/name'): code is not downloaded and run here
    """
    raise NotImplementedError(f"torch.hub.list({github!r}): {_ADVICE}")


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check"):
    """Raises: what a repository on the network offers is not looked up.

    >>> import adjoint as torch
    >>> try:
    ...     torch.hub.help("owner/name", "model")
    ... except NotImplementedError as error:
    ...     print(str(error).split(";")[0])
    torch.hub.help('owner/name'): code is not downloaded and run here
    """
    raise NotImplementedError(f"torch.hub.help({github!r}): {_ADVICE}")


def _configuration(folder):
    """The module hubconf.py of a folder, whose other files it can import while it is loaded."""
    folder = os.path.abspath(folder)
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf.py", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _entry(module, name):
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [one for one in getattr(module, "dependencies", ()) if importlib.util.find_spec(one) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function
