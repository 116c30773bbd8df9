"""Update rules of optimizers as device code: one element of each array, and what is computed ahead of the elements."""

from .cpp import Cpp
from .updates import is_condition, leaf, prepare_lines


def update_text(update):
    """What csrc/cuda/updates.cpp puts into kernels: `update`, `prepare`, and how many arrays there are."""
    written = sum(1 << i for i, name in enumerate(update.arrays) if _is_written(update, name))
    lines = [
        f"inline constexpr int kArrays = {len(update.arrays)}, kUsed = {len(update.uniforms())};",
        f"inline constexpr unsigned kWritten = {written};",
        *_element(update),
        *prepare_lines(update, "prepare"),
    ]
    return "\n".join([*lines, ""])


def _is_written(update, name):
    return name != "grad" and update.results[name] is not leaf(update.rule, name)


def _element(update):
    names, cpp = {}, Cpp()
    lines = ["template <class T>", "inline void update([[maybe_unused]] const T* uniforms, T* values) {"]
    for i, value in enumerate(update.uniforms()):
        names[id(value)] = f"u{i}"
        lines.append(f"  const auto u{i} = uniforms[{i}]{' != 0' if is_condition(value) else ''};")
    for value in update.order:
        if value.kind == "input":
            names[id(value)] = f"{value.payload}_"
            lines.append(f"  const T {value.payload}_ = values[{update.arrays.index(value.payload)}];")
        elif value.kind == "const":
            names[id(value)] = cpp.constant(value.payload)
        elif update.place[id(value)] == "array":
            text = cpp.call(value.kind, [names[id(a)] for a in value.args])
            name = names[id(value)] = f"v{len(names)}"
            lines.append(f"  const auto {name} = {text};")
    for i, name in enumerate(update.arrays):
        if _is_written(update, name):
            lines.append(f"  values[{i}] = {names[id(update.results[name])]};")
    return [*lines, "}"]
