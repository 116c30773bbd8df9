"""How much of the standard Adjoint gives, beside torch by array-api-compat and array-api-strict, where installed.

python -m tests.array_api [--failures adjoint]
"""

import argparse
import importlib

from .cases import FAMILIES, operators
from .standard import SIGNATURES, check, signature_failure

NAMESPACES = {"adjoint": "adjoint.array_api", "torch": "array_api_compat.torch", "strict": "array_api_strict"}
DEFAULTS = {"float64": "float32", "complex128": "complex64"}


def counts(report):
    cases = sum(count for count, _ in report.values())
    failures = [len(failures) for _, failures in report.values()]
    return f"{failures.count(0)} of {len(failures)} | {cases - sum(failures)} of {cases}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failures", help="the namespace whose failures are shown")
    parser.add_argument("--most", type=int, default=3, help="how many failures of a function are shown")
    options = parser.parse_args()
    print("| namespace | signatures | functions without a failure | their cases | operators | their cases |")
    print("|---|---|---|---|---|---|")
    for title, name in NAMESPACES.items():
        try:
            namespace = importlib.import_module(name)
        except ImportError:
            print(f"| {title} | not installed | | |")
            continue
        if title == "strict":
            namespace.set_array_api_strict_flags(api_version="2024.12")
        wrong = {name: why for name in SIGNATURES if (why := signature_failure(namespace, name))}
        hidden = sum(why == "no signature" for why in wrong.values())
        default = None if title == "strict" else DEFAULTS
        report = check(namespace, FAMILIES.values(), default)
        of_arrays = check(namespace, [operators], default)
        signatures = f"{len(SIGNATURES) - len(wrong)} of {len(SIGNATURES)}" + (f", {hidden} hidden" if hidden else "")
        print(f"| {title} | {signatures} | {counts(report)} | {counts(of_arrays)} |")
        report |= of_arrays
        if options.failures == title:
            for function, why in wrong.items():
                print(f"    signature of {function}: {why}")
            for function, (count, failures) in report.items():
                for case, why in failures[: options.most]:
                    print(f"    {function} ({len(failures)} of {count}): {case}: {why}")


if __name__ == "__main__":
    main()
