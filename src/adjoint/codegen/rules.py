"""The generated file derived.py: rules for the ops that declare none, as Python functions of tensors."""

from . import BANNER
from .expressions import leaves
from .python import Python


def derived_file(kernels):
    """RULES[op][argument]: what runs where a graph of the gradient is wanted."""
    functions, rules, language = [], {}, Python()
    for kernel in kernels:
        params = [name for name in kernel.item.params if name in leaves(kernel.value, "param")]
        statements, result = language.statements(kernel.value)
        functions += ["", "", f"def {kernel.function}({', '.join(kernel.inputs + params)}):"]
        functions += [f"    {name} = {text}" for name, text in statements]
        functions.append(f"    return {result}")
        rules.setdefault(kernel.item.name, []).append((kernel.argument, kernel.function))
    lines = [f'"""{BANNER}', "", "Rules of the ops that declare none, derived from their expressions.", '"""']
    if language.words:
        lines += ["", f"from .language import {', '.join(sorted(language.words))}"]
    lines += [*functions, "", "", "RULES = {"]
    for op, pairs in rules.items():
        lines.append(f'    "{op}": {{{", ".join(f"{chr(34)}{a}{chr(34)}: {f}" for a, f in pairs)}}},')
    return "\n".join([*lines, "}", ""])
