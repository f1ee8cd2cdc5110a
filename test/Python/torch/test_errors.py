"""What cannot be imported is refused, at its line or by its name."""

from __future__ import annotations

import modules
import pytest
import torch
from remat.torch import ImportFailure, UnsupportedNodes, import_module
from remat.torch.check import check
from torch import nn


class Simple(nn.Module):
    def __init__(self, function=None) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4))
        self.function = function or (lambda w, x: w * x)

    def forward(self, x):
        return self.function(self.w, x).sum()


X = (torch.randn(4),)


def message(module, args=X, **options) -> str:
    with pytest.raises(ImportFailure) as raised:
        import_module(module, args, **options)
    return str(raised.value)


def test_every_unsupported_operation_is_listed_with_its_line():
    class Special(Simple):
        def forward(self, x):
            first = torch.special.bessel_j0(self.w)  # here
            return (first + torch.lgamma(self.w) * x).sum()

    with pytest.raises(UnsupportedNodes) as raised:
        import_module(Special(), X)
    nodes = raised.value.nodes
    assert [node.operation for node in nodes] == ["special_bessel_j0.default", "lgamma.default"]
    assert "bessel_j0(self.w)  # here" in nodes[0].line and "test_errors.py" in nodes[0].line
    assert "2 operations" in str(raised.value)


def test_control_flow_that_depends_on_data():
    text = message(Simple(lambda w, x: w * x if x.sum() > 0 else w - x))
    assert "test_errors.py" in text and "depends on data" in text and "torch.where" in text


def test_shapes_that_depend_on_data():
    text = message(Simple(lambda w, x: (w * x)[x > 0]))
    assert "data" in text and "test_errors.py" in text


def test_own_autograd_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return 2 * x

        @staticmethod
        def backward(context, gradient):
            return 3 * gradient

    text = message(Simple(lambda w, x: Double.apply(w) * x))
    assert "Double" in text and "backward of its own" in text


def test_operators_of_libraries():
    """One with a gradient of its own is traced whole, and is refused by its name without a rule."""

    @torch.library.custom_op("remat_tests::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    doubled.register_fake(torch.empty_like)
    doubled.register_autograd(lambda context, gradient: 3 * gradient)
    text = message(Simple(lambda w, x: doubled(w) * x))
    assert "remat_tests.doubled.default: there is no rule" in text and "test_errors.py" in text


def test_complex_and_sparse():
    text = message(Simple(lambda w, x: torch.fft.rfft(w * x).abs()))
    assert "complex" in text and "test_errors.py" in text
    assert "complex" in message(_with_parameter(torch.randn(4, dtype=torch.complex64)))
    text = message(Simple(), (torch.randn(4).to_sparse(),))
    assert "sparse" in text


def _with_parameter(tensor):
    module = Simple()
    module.extra = nn.Parameter(tensor)
    return module


def test_types_that_the_dialect_lacks():
    text = message(_with_parameter(torch.randn(4, dtype=torch.float64)))
    assert "'extra'" in text and "float64" in text
    assert "'x'" in message(Simple(), (torch.randn(4, dtype=torch.float64),))


def test_hooks():
    module = Simple()
    module.register_full_backward_hook(lambda *unused: None)
    assert "backward hook" in message(module)
    module = Simple()
    module.w.register_hook(lambda gradient: 2 * gradient)
    assert "'w'" in message(module) and "hook" in message(module)

    def hooked(w, x):
        made = w * x
        made.register_hook(lambda gradient: 2 * gradient)
        return made

    assert "gradient hook" in message(Simple(hooked))


def test_unused_parameters():
    module = _with_parameter(torch.randn(4))
    assert "extra" in message(module) and "requires_grad_(False)" in message(module)
    kept = import_module(module, X, unused="keep")
    assert kept.unused == ["extra"] and list(kept.parameters) == ["w"]
    module.extra.requires_grad_(False)
    assert import_module(module, X).unused == []


def test_parameters_that_are_read_without_gradients():
    """By an index, or detached: nothing learns them, and they are states where they are kept."""

    def function(w, x):
        return w * x + module.extra.detach() + x[module.extra.argmax()]

    module = Simple(function)
    module.extra = nn.Parameter(torch.randn(4))
    assert "extra" in message(module)
    kept = import_module(module, X, unused="keep")
    assert kept.unused == ["extra"] and list(kept.parameters) == ["w"]
    assert "extra" in kept.states
    done = check(module, X, imported=kept)
    assert done.passed, str(done)


def test_operations_that_check_what_they_are_given_are_listed_too():
    text = message(Simple(lambda w, x: torch.linalg.inv(torch.outer(w, x) + torch.eye(4))))
    assert "linalg_inv_ex.default: there is no rule" in text and "test_errors.py" in text
    generator = torch.Generator().manual_seed(1)
    text = message(Simple(lambda w, x: w * x * torch.rand(4, generator=generator)))
    assert "rand.generator" in text and "no tensor" in text


def test_parameters_that_are_not_finite():
    module = Simple()
    with torch.no_grad():
        module.w[1] = float("nan")
    assert "'w'" in message(module) and "not finite" in message(module)


def test_what_is_no_loss():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4))

        def forward(self, x):
            return self.w * x, x.sum()

    assert "2 values" in message(Two())

    class Vector(Two):
        def forward(self, x):
            return self.w * x

    assert "(4,)" in message(Vector())


def test_inputs_of_another_shape_or_type():
    imported = import_module(Simple(), X)
    with pytest.raises(ImportFailure, match=r"'x' is \(5,\).*made for \(4,\)"):
        imported.bind((torch.randn(5),))
    with pytest.raises(ImportFailure, match="int64"):
        imported.bind((torch.arange(4),))
    with pytest.raises(ImportFailure, match="missing"):
        imported.bind(())
    assert set(imported.bind(X)) == {"x"}


def test_an_exception_of_the_module_names_its_line():
    text = message(Simple(lambda w, x: w @ torch.ones(3, 3)))
    assert "test_errors.py" in text and "torch.ones(3, 3)" in text


def test_training_mode_is_the_modules():
    module, args = modules.tiny_gpt()
    assert not import_module(module.eval(), args).random
    assert import_module(module.train(), args).random
