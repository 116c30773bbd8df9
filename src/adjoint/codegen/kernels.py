"""Kernels: what is to be computed for an elementwise op, whatever the language it will be written in."""

from .derivatives import derive
from .expressions import Value, leaves, primitives_of, result_type
from .tracing import trace

MAX_INPUTS = 8  # kMaxInputs in csrc/cpu/elementwise.h


class Kernel:
    """One loop to generate: the forward of an op (`argument` is "") or the fused rule of one argument."""

    def __init__(self, item, argument, inputs, value, derived=False):
        self.item = item
        self.argument = argument
        self.inputs = inputs
        self.value = value
        self.derived = derived
        self.name = f"{item.name}.{argument}" if argument else item.name
        self.function = f"rule_{item.name}_{argument}" if argument else f"forward_{item.name}"
        self.result = "same" if argument else item.result
        if len(inputs) > MAX_INPUTS:
            item.fail(f"{self.name} reads {len(inputs)} arrays; a kernel can read {MAX_INPUTS}")

    def families(self):
        """Type families that need a loop: rules only where there are gradients; promoted ones compute in floats."""
        families = self.item.types - {"half"}
        if self.argument or self.item.promote == "float":
            families = families & {"float", "complex"}
        light = all(primitive.light for primitive in primitives_of(self.value))
        return families | {"bfloat16"} if light and "half" in self.item.types else families


def kernels_of(table, item):
    """The kernels of an elementwise op, forward first."""
    symbols = _symbols(item)
    forward = trace(table, item, "", item.expression, symbols)
    _check_result(item, result_type(forward))
    kernels = [Kernel(item, "", list(item.operands), forward)]
    if not item.differentiable:
        return kernels
    if item.derived:
        operands = [symbols[name] for name in item.operands]
        for name, value in zip(item.operands, derive(table, item, forward, operands, symbols["g"]), strict=True):
            used = leaves(value, "input")
            inputs = ["g", *(n for n in item.operands if n in used)]
            kernels.append(Kernel(item, name, inputs, value, derived=True))
        return kernels
    for name, rule in item.rules.items():
        if rule is not None:
            value = trace(table, item, name, rule, symbols)
            inputs = [n for n in item.uses[name] if n not in item.params]
            if value is not symbols["g"]:
                kernels.append(Kernel(item, name, inputs, value))
    return kernels


def _check_result(item, result):
    if result == "real" and "complex" not in item.types:
        result = "same"
    if result != item.result:
        item.fail(f"the type of the expression is {result!r}; write result={result!r}")


def _symbols(item):
    """Leaves for tracing: operands, cotangent and result are inputs, the other arguments params."""
    symbols = {name: Value("input", (), name) for name in (*item.operands, "g", "out")}
    return symbols | {name: Value("param", (), name) for name in item.params}
