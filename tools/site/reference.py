"""The reference: a page for each public module, from the signatures and docstrings of the package as it is imported."""

import ast
import functools
import importlib
import inspect
import re
import textwrap
import types
from pathlib import Path

import adjoint

# Pages, in the order of the menu; the functions of `adjoint` itself have a page for each family of the op table.
MODULES = """
    Tensor autograd autograd.functional autograd.forward_ad autograd.graph func nn nn.functional nn.init
    nn.utils nn.utils.parametrize nn.utils.rnn nn.attention optim optim.lr_scheduler optim.swa_utils
    linalg fft special distributions sparse masked signal.windows utils.data utils.checkpoint inspect profiler amp fx
    library overrides serialization safetensors random quasirandom testing
"""
HEAD = re.compile(r"^(\w+)\((.*)\)(?: -> .*)?$")


def signature(value, name):
    """The call, as text; what has no signature says it in the first line of its docstring, or is shown bare."""
    try:
        found = inspect.signature(value)
    except (ValueError, TypeError):
        head = HEAD.match(first_line(value))
        return f"{name}({head[2]})" if head else f"{name}(...)"
    # Defaults that are objects print their address; their type's name is all that a reader can use.
    text = name + re.sub(r"<([\w. ]+?)(?: object)? at 0x[0-9a-f]+>", r"<\1>", str(found))
    return textwrap.fill(text, 88, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def first_line(value):
    text = inspect.getdoc(value) or ""
    return text.partition("\n")[0].strip()


def markdown(text):
    """A docstring as Markdown: examples are fenced, and indented code is; all else is text."""
    parts, lines, block = [], [], None
    for line in [*text.splitlines(), ""]:
        if block is None and line.lstrip().startswith(">>>"):
            block = []
        if block is not None and not line.strip():
            parts += ["\n".join(lines), "```pycon\n" + inspect.cleandoc("\n".join(block)) + "\n```"]
            lines, block = [], None
        elif block is not None:
            block.append(line)
        else:
            lines.append(line.replace("*", "\\*").replace("<", "&lt;") if "`" not in line else line)
    return "\n\n".join(part.strip("\n") for part in [*parts, "\n".join(lines)] if part.strip())


def entry(name, value, level=3):
    """A heading with the bare name, the call, and the docstring."""
    text = inspect.getdoc(value) or ""
    head = HEAD.match(text.partition("\n")[0])
    if head:  # of native functions: the signature, which stands above already
        text = text.partition("\n")[2]
    parts = [f"{'#' * level} {name.rpartition('.')[2].replace('_', chr(92) + '_')} {{ #{name} .entry }}"]
    if callable(value):
        kind = "class " if isinstance(value, type) else ""
        parts.append(f"```python\n{kind}{signature(value, name)}\n```")
    if text.strip():
        parts.append(markdown(text.strip()))
    if name.count(".") == 1 and in_place(f"{name.rpartition('.')[2]}_"):
        parts.append(f"In place: `{name}_`.")
    return "\n\n".join(parts)


def in_place(name):
    """Whether this is the in-place form of a function, which needs no entry of its own."""
    return name.endswith("_") and hasattr(adjoint, name) and hasattr(adjoint, name[:-1])


def members(cls):
    """Public methods and properties that a class defines itself and documents."""
    for name, member in sorted(vars(cls).items()):
        value = getattr(cls, name, None)
        if not name.startswith("_") and isinstance(inspect.getdoc(value), str):
            yield name, member if isinstance(member, property) else value


def public(module):
    """The names that a module offers: its __all__, or what is neither private, a module, nor from elsewhere."""
    # The package's own __all__ leaves out what would shadow builtins, such as abs and sum.
    listed = None if module is adjoint else getattr(module, "__all__", None)
    for name in sorted(listed if listed is not None else dir(module), key=str.lower):
        try:
            value = getattr(module, name)
        except (AttributeError, ImportError):
            continue
        home = getattr(value, "__module__", None) or "adjoint"
        if name.startswith("_") or isinstance(value, types.ModuleType) or not callable(value):
            continue
        if listed is None and home.partition(".")[0] not in ("adjoint", "torch"):
            continue
        yield name, value


def page(title, words, names):
    parts = [f"# {title}\n", words, "| | |\n|---|---|"]
    rows = []
    for name, value in names:
        said = first_line(value)
        said = "" if HEAD.match(said) else said.replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| [`{name.rpartition('.')[2]}`](#{name}) | {said} |")
    parts[-1] += "\n" + "\n".join(rows)
    for name, value in names:
        parts.append(entry(name, value))
        if isinstance(value, type):
            parts += [entry(f"{name}.{attribute}", member, 4) for attribute, member in members(value)]
    return "\n\n".join(part for part in parts if part) + "\n"


@functools.cache
def families():
    """The files of the op table that declare each name, by their first word, and what they say that they are about."""
    homes, titles = {}, {}
    for path in sorted((Path(adjoint.__file__).parent / "ops").glob("[a-z]*.py")):
        tree = ast.parse(path.read_text())
        family = path.stem.partition("_")[0]  # linalg_solve and linalg_factor are on one page
        titles.setdefault(family, (ast.get_docstring(tree) or family).partition("\n")[0].partition(". ")[0])
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                head = re.match(r"(\w+)\(", str(node.args[0].value))
                if head:
                    homes.setdefault(head[1], family)
            elif isinstance(node, ast.FunctionDef):
                homes.setdefault(node.name, family)
    return homes, titles


def function_pages():
    homes, titles = families()
    groups = {}
    for name, value in public(adjoint):
        if name == "Tensor" or in_place(name):
            continue
        home = homes.get(name) or homes.get(name.rstrip("_"))
        groups.setdefault(home or "others", []).append((f"adjoint.{name}", value))
    for home, names in sorted(groups.items(), key=lambda group: (group[0] == "others", group[0])):
        if len(names) < 4 and home != "others":  # too few for a page
            groups["others"] += names
    for home in sorted(group for group in groups if group != "others" and len(groups[group]) >= 4):
        yield f"reference/functions_{home}.md", home.capitalize(), titles[home], groups[home]
    others = "Settings, types, and what belongs to no family."
    yield "reference/functions_others.md", "Others", others, sorted(groups["others"], key=lambda item: item[0].lower())


def tensor_page():
    """Methods of Tensor; those that are functions, too, say no more than that."""
    names, shared, changing = [], [], []
    for name, member in members(adjoint.Tensor):
        if name.endswith("_") and hasattr(adjoint.Tensor, name[:-1]):
            changing.append(f"`{name}`")
            continue
        if callable(member) and callable(getattr(adjoint, name, None)) and not name.endswith("_"):
            shared.append((name, member))
        else:
            names.append((f"adjoint.Tensor.{name}", member))
    functions = {
        name.rpartition(".")[2]: Path(path).name for path, _, _, group in function_pages() for name, _ in group
    }
    rows = [f"[`{name}`]({functions[name]}#adjoint.{name})" for name, _ in shared if name in functions]
    words = "The methods that are functions of the same name, too, with the tensor as their first argument:\n\n"
    also = "Those that write their result into the tensor itself:\n\n" + " · ".join(changing)
    head = inspect.getdoc(adjoint.Tensor).partition("\n")[0]
    return page("Tensor", "\n\n".join([head, words + " · ".join(rows), also]), names)


def pages():
    """A table of all pages, and their contents by their paths in the site, in the order of the menu."""
    made, rows = {}, []

    def add(path, title, words, names):
        made[path] = page(title, words, names)
        rows.append(f"| [{title}]({path}) | {len(names)} | {words} |")

    for name in MODULES.split():
        if name == "Tensor":
            made["reference/tensor.md"] = tensor_page()
            rows.append("| [Tensor](reference/tensor.md) | | The tensor, with its methods |")
            continue
        module = importlib.import_module(f"adjoint.{name}")
        words = (inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " ").partition("; filled from")[0]
        names = [(f"adjoint.{name}.{key}", value) for key, value in public(module)]
        if names:
            add(f"reference/{name.replace('.', '_')}.md", name, words, names)
    rows.append("| **Functions of `torch` itself** | | |")
    for path, title, words, names in function_pages():
        add(path, title, words, names)
    return "| page | names | what it has |\n|---|---:|---|\n" + "\n".join(rows) + "\n", made
