"""Derivatives of expressions, found with the rules of the op table itself: there is no second table of derivatives."""

from .expressions import apply, lift, topological
from .tracing import trace


def derive(table, item, forward, operands, g):
    """The cotangents of `operands` in the expression of an op that declares no rules."""
    cotangents = differentiate(forward, operands, g, _pull_by_rules(table, item))
    return cotangents if "complex" in item.types else [strip_conj(value) for value in cotangents]


def differentiate(root, wanted, g, pull):
    """Cotangents of the nodes `wanted`, by reverse accumulation from `root` with cotangent `g`.

    `pull(value, g, needed)` gives the cotangents of a primitive's arguments: None where there is none.
    """
    cotangents = {id(root): g}
    depends = {id(value) for value in wanted}
    order = topological([root])
    for value in order:
        if any(id(a) in depends for a in value.args):
            depends.add(id(value))
    for value in reversed(order):
        mine = cotangents.get(id(value))
        if mine is None or not value.args or not any(id(a) in depends for a in value.args):
            continue
        needed = [id(a) in depends for a in value.args]
        for argument, cotangent in zip(value.args, pull(value, mine, needed), strict=True):
            if cotangent is None or id(argument) not in depends:
                continue
            before = cotangents.get(id(argument))
            cotangents[id(argument)] = cotangent if before is None else before + cotangent
    return [cotangents.get(id(value), lift(0)) for value in wanted]


def strip_conj(root):
    """The same expression for real types, where conj is the identity."""
    new = {}
    for value in topological([root]):
        if value.kind == "conj":
            new[id(value)] = new[id(value.args[0])]
        elif value.args:
            new[id(value)] = apply(value.kind, *(new[id(a)] for a in value.args))
        else:
            new[id(value)] = value
    return new[id(root)]


def _pull_by_rules(table, item):
    """Cotangents of a primitive's arguments, by the rules in the table."""

    def pull(value, g, needed):
        if value.kind == "where":
            condition = value.args[0]
            return (None, apply("where", condition, g, 0), apply("where", condition, 0, g))
        rule_owner = table.ops.get(value.kind)
        if rule_owner is None or rule_owner.derived or len(rule_owner.operands) != len(value.args):
            item.fail(f"no rule can be derived: {value.kind} has none; write the rules of {item.name}")
        known = {"g": g, "out": value} | dict(zip(rule_owner.operands, value.args, strict=True))
        known |= {name: lift(rule_owner.defaults[name]) for name in rule_owner.params}
        rules = [rule_owner.rules[name] for name in rule_owner.operands]
        return [
            trace(table, rule_owner, name, rule, known) if rule and need else None
            for name, rule, need in zip(rule_owner.operands, rules, needed, strict=True)
        ]

    return pull
