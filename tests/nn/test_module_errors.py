"""Errors inside modules name the module; what a program raises itself stays as it is."""

import copy
import pickle
import warnings

import pytest

import adjoint as torch

nn = torch.nn


def text(call, kind=RuntimeError):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleDict({"wide": nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 2))})

    def forward(self, x):
        return self.inner["wide"](x)


def test_path_of_nested_modules():
    net = nn.Sequential(nn.Identity(), Block())
    assert "; in Linear '1.inner.wide.1' (in_features=4" in text(lambda: net(torch.ones(1, 2)))
    assert "; in Linear 'inner.wide.1' (" in text(lambda: net[1](torch.ones(1, 2)))
    assert text(lambda: net(torch.ones(1, 2))).count("Linear") == 1


def test_no_path_of_a_module_alone():
    assert text(lambda: nn.Linear(2, 3)(torch.ones(1, 4))).endswith(
        "; in Linear (in_features=2, out_features=3, bias=True)"
    )


def test_module_that_its_caller_does_not_have():
    hidden = [nn.Linear(2, 3)]

    class Net(nn.Module):
        def forward(self, x):
            return hidden[0](x)

    assert "; in Linear (in_features=2" in text(lambda: nn.Sequential(Net())(torch.ones(1, 4)))


def test_ops_of_a_programs_own_module():
    class Net(nn.Module):
        def forward(self, x):
            return x @ torch.ones(5, 5)

    assert "in Net '0'" in text(lambda: nn.Sequential(Net())(torch.ones(1, 4)))


def test_with_hooks():
    net = nn.Sequential(nn.Linear(2, 3))
    net.register_forward_pre_hook(lambda module, args: None)
    net[0].register_forward_hook(lambda module, args, result: None)
    assert "in Linear '0' (" in text(lambda: net(torch.ones(1, 4)))


@pytest.mark.parametrize("error", [RuntimeError("mine"), ValueError("mine"), KeyError("mine"), RuntimeError("a", 2)])
def test_raised_by_the_program(error):
    class Net(nn.Module):
        def forward(self, x):
            raise error

    with pytest.raises(type(error)) as caught:
        nn.Sequential(Net())(torch.ones(1))
    assert caught.value is error
    assert error.args in (("mine",), ("a", 2))


def test_interrupts_pass():
    class Net(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nn.Sequential(Net())(torch.ones(1))


def test_extra_repr_that_fails():
    class Net(nn.Linear):
        def extra_repr(self):
            raise ValueError("not now")

    assert text(lambda: Net(2, 3)(torch.ones(1, 4))).endswith("; in Net")


def test_error_can_be_pickled():
    class Net(nn.Module):  # a local class cannot
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 3)

        def forward(self, x):
            return self.layer(x)

    with pytest.raises(RuntimeError) as caught:
        Net()(torch.ones(1, 4))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert str(copy.copy(caught.value)) == str(caught.value)


def test_arguments_of_forward():
    layer = nn.Linear(2, 2)
    assert "; it is forward(input)" in text(lambda: layer(torch.ones(2), 3), TypeError)
    assert "; did you mean 'input'?" in text(lambda: layer(inputs=torch.ones(2)), TypeError)


def test_keywords_of_classes():
    assert "Conv2d.__init__() got an unexpected" in text(lambda: nn.Conv2d(1, 1, 1, biases=False), TypeError)
    assert "did you mean 'bias'?" in text(lambda: nn.Conv2d(1, 1, 1, biases=False), TypeError)

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.layer = nn.Linear(width, width, use_bias=False)

    assert "Linear.__init__() got" in text(lambda: Net(width=3), TypeError)
    assert "did you mean 'width'? It is called as Net(width)" in text(lambda: Net(wide=3), TypeError)
    Net.__init__ = lambda self, other: nn.Module.__init__(self)  # a new one is called, and explained as Python does
    Net(other=3)
    assert "unexpected keyword argument 'width'" in text(lambda: Net(width=3), TypeError)


def test_warnings_point_to_the_program():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            nn.Sequential(nn.Softmax())(torch.ones(2, 2))
        nn.MSELoss()(torch.ones(3, 1), torch.ones(3))
    assert [warning.filename for warning in caught] == [__file__] * 2  # once for each line
