"""Calls that subclasses and modes take over, written once against a module called `torch` that is either library."""

from cases import Case


def plain(torch):
    x = torch.rand(8)
    return lambda: x + x


def by_default(torch):
    class Kept(torch.Tensor):
        pass

    x = torch.rand(8).as_subclass(Kept)
    return lambda: x + x


def in_python(torch):
    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.rand(8).as_subclass(Own)
    return lambda: x + x


def attribute(torch):
    class Kept(torch.Tensor):
        pass

    x = torch.rand(8).as_subclass(Kept)
    return lambda: x.shape


def parameter(torch):
    x = torch.nn.Parameter(torch.rand(8), requires_grad=False)
    return lambda: x + x


def foreign(torch):
    class Foreign:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 1

    x, f = torch.rand(8), Foreign()
    return lambda: torch.add(x, f)


def layer(torch):
    class Kept(torch.Tensor):
        pass

    x = torch.rand(8).as_subclass(Kept)
    relu = torch.nn.functional.relu
    return lambda: relu(x)


def mode(torch):
    class Passing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = torch.rand(8)
    passing = Passing()

    def step():
        with passing:
            for _ in range(20):
                x + x

    return step


def entering(torch):
    class Passing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    passing = Passing()

    def step():
        with passing:
            pass

    return step


CASES = [
    Case("overrides_plain", "overrides", "x + x, plain tensors", plain, "3"),
    Case("overrides_parameter", "overrides", "x + x, parameters", parameter, "3"),
    Case("overrides_by_default", "overrides", "x + x, a subclass with the default", by_default, "3"),
    Case("overrides_in_python", "overrides", "x + x, a subclass that calls super()", in_python, "1"),
    Case("overrides_layer", "overrides", "relu(x), a subclass with the default", layer, "3"),
    Case("overrides_attribute", "overrides", "x.shape of a subclass", attribute, "1"),
    Case("overrides_foreign", "overrides", "add(x, f), a foreign object answers", foreign, "1"),
    Case("overrides_mode", "overrides", "x + x in a mode that passes it on", mode, "1", per=20),
    Case("overrides_entering", "overrides", "entering and leaving a mode", entering, "1"),
]
