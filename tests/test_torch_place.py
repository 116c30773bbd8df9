"""Programs written for torch that run on Adjoint: `python -m adjoint.run` and `as_torch()`."""

import pickle
import textwrap

import pytest
import torch

import adjoint
from adjoint import run

from .processes import python, script


@pytest.fixture
def program(tmp_path):
    """Runs a program given as text by `python -m adjoint.run`; returns the lines that it printed."""

    def runs(text, *arguments, options=(), **how):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        done = python("-m", "adjoint.run", *options, path, *arguments, **how)
        return done.stdout.splitlines() if not options else done

    return runs


def test_modules_are_found_by_every_way_of_importing_them(program):
    lines = program(
        """
        import importlib
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.optim.lr_scheduler
        from torch import Tensor, nn as again
        from torch.nn import Linear
        from torch.nn.modules.linear import Linear as same
        from torch.utils.data import DataLoader
        from torch.autograd import Function, grad
        import adjoint

        print(torch is adjoint, nn is again is adjoint.nn, F is adjoint.nn.functional, Linear is same is nn.Linear)
        print(importlib.import_module("torch.linalg") is adjoint.linalg)
        print(nn.__spec__.name, nn.__name__)
        """
    )
    assert lines == ["True True True True", "True", "adjoint.nn adjoint.nn"]


def test_a_training_run_gives_what_torch_gives(program, tmp_path):
    text = """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        x = torch.linspace(-1, 1, 32, dtype=torch.float64).reshape(16, 2)
        y = (x ** 2).sum(1, keepdim=True)
        model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)).double()
        for p in model.parameters():
            nn.init.constant_(p, 0.1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
        for epoch in range(3):
            for a, b in DataLoader(TensorDataset(x, y), batch_size=4):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(a), b)
                loss.backward()
                optimizer.step()
            schedule.step()
            print(f"{loss.item():.12f}")
    """
    ours = program(text)
    theirs = python(tmp_path / "program.py").stdout.splitlines()
    assert ours == theirs
    assert len(ours) == 3


def test_what_a_program_sees_of_itself(program, tmp_path):
    lines = program(
        """
        import sys
        print(__name__, __file__ == sys.argv[0], sys.argv[1:], sys.path[0])
        """,
        "one",
        "--two",
        "-m",
    )
    assert lines == [f"__main__ True ['one', '--two', '-m'] {tmp_path}"]


def test_modules_of_a_folder(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text("import sys, torch, adjoint; print(torch is adjoint, sys.argv[1:], __name__)")
    done = python("-m", "adjoint.run", "-m", "package.train", "--report", folder=tmp_path)
    assert done.stdout == "True ['--report'] __main__\n"


def test_exit_codes_and_errors(program):
    program("import sys; sys.exit(3)", code=3)
    assert "ZeroDivisionError" in program("1 / 0", code=1, options=["--report"]).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "give a script, or -m and a module"), (("absent.py",), "there is no file 'absent.py'")],
)
def test_nothing_to_run(arguments, words):
    assert words in python("-m", "adjoint.run", *arguments, code=2).stderr


def test_versions(program):
    lines = program(
        """
        import importlib.metadata, importlib.util
        import torch
        print(torch.__version__, importlib.metadata.version("torch"), torch.version.__version__)
        print(torch.__version__ >= "2.4", torch.__version__ < (3,), importlib.util.find_spec("torch") is not None)
        """
    )
    version = f"2.13.0+adjoint.{adjoint.__version__}"
    assert lines == [f"{version} {version} {version}", "True True True"]


def test_classes_have_torchs_names(program):
    names = [
        "torch.Tensor",
        "torch.nn.Parameter",
        "torch.nn.Linear",
        "torch.nn.Module",
        "torch.device",
        "torch.Size",
        "torch.optim.Adam",
        "torch.utils.data.DataLoader",
        "torch.autograd.Function",
    ]
    lines = program(f"import torch\nfor name in {names}:\n    print(eval(name).__module__)")
    assert lines == [eval(name).__module__ for name in names]


def test_pickles_of_torch(program, tmp_path):
    layer = torch.nn.Linear(2, 1).double()
    (tmp_path / "layer.pkl").write_bytes(pickle.dumps(type(layer)))
    torch.save(layer.state_dict(), tmp_path / "state.pt")
    lines = program(
        f"""
        import pickle, torch
        made = pickle.loads(open({str(tmp_path / "layer.pkl")!r}, "rb").read())
        layer = made(2, 1).double()
        layer.load_state_dict(torch.load({str(tmp_path / "state.pt")!r}))
        print(made is torch.nn.Linear, layer.weight.tolist())
        open({str(tmp_path / "back.pkl")!r}, "wb").write(pickle.dumps(made))
        """
    )
    assert lines == [f"True {layer.weight.tolist()}"]
    assert pickle.loads((tmp_path / "back.pkl").read_bytes()) is torch.nn.Linear


def test_names_that_are_missing(program):
    done = program(
        """
        import torch
        for _ in range(2):
            hasattr(torch, "no_such_name")
        try:
            torch.nn.functional.nothing
        except AttributeError as error:
            print(error)
        try:
            import torch.no_such_module.part
        except ModuleNotFoundError as error:
            print(error, error.name)
        """,
        options=["--report"],
    )
    assert done.stdout.splitlines() == [
        "module 'torch.nn.functional' has no attribute 'nothing'",
        "No module named 'torch.no_such_module': Adjoint stands for torch here, and does not have it "
        "torch.no_such_module",
    ]
    assert done.stderr.splitlines() == [
        "Asked for and missing:",
        "     2  torch.no_such_name",
        "     1  torch.nn.functional.nothing",
        "     1  torch.no_such_module",
    ]


def test_nothing_missing(program):
    done = program("import torch", options=["--report"])
    assert done.stderr == "Nothing was asked of torch that Adjoint does not have.\n"


def test_as_torch_twice_and_too_late():
    script("import adjoint; adjoint.as_torch(); adjoint.as_torch(); import torch; assert torch is adjoint")
    done = script("import torch, adjoint; adjoint.as_torch()", code=1)
    assert "torch itself is imported already" in done.stderr


def test_torch_itself_is_not_imported(program):
    lines = program(
        """
        import sys, torch
        files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
        print([file for file in files if "site-packages/torch/" in file])
        """
    )
    assert lines == ["[]"]


@pytest.mark.parametrize(
    ("given", "split"),
    [
        (["a.py", "-m", "x"], (["a.py"], ["-m", "x"])),
        (["--report", "-m", "x", "--report"], (["--report", "-m", "x"], ["--report"])),
        ([], ([], [])),
    ],
)
def test_options_before_the_program_are_those_of_the_command(given, split):
    assert run.split(given) == split
