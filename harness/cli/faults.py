"""`./highwater faults`: the catalogue of what can go wrong on purpose, as a person reads it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from harness.cli.arguments import Parser
from harness.cli.table import format_table
from harness.errors import DONE, UserMistake
from nemesis.catalogue import CATALOGUE, FaultKind, Parameter, Variant
from nemesis.targets import OTHER_FORMS, ROLES


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater faults", description="What can go wrong on purpose: kinds, variants, parameters, targets, proofs.")
    parser.add_argument("kind", nargs="?", metavar="KIND", help="only this one; left out: all")
    kind: str | None = parser.parse_args(argv).kind
    if kind is not None and kind not in CATALOGUE:
        nearest = difflib.get_close_matches(kind, CATALOGUE, 1)
        hint = f"did you mean `{nearest[0]}`?" if nearest else f"there are: {', '.join(CATALOGUE)}"
        raise UserMistake(f"there is no fault {kind!r}; {hint}")
    for each in [CATALOGUE[kind]] if kind else CATALOGUE.values():
        print("\n".join(_described(each)), end="\n\n")
    if kind is None:
        print("targets, found when the fault strikes:")
        print(format_table(["", "", ""], [["", *form] for form in (*ROLES.items(), *OTHER_FORMS.items())]).lstrip("\n"))
        print("\nin a scenario's [[faults]], or short: --fault partition:one-way@leader/lost=sent,kill@all/lasts=5")
    return DONE


def _described(kind: FaultKind) -> Iterator[str]:
    yield kind.name
    yield f"    {kind.about}"
    yield f"    needs:  {', '.join(need.value for need in kind.needs)}"
    yield f"    proof:  {kind.proof}"
    yield f"    healed: {kind.healing}"
    for variant in kind.variants:
        yield from _variant(variant)


def _variant(variant: Variant) -> Iterator[str]:
    indent = "    "
    if variant.name:
        nodes = f" ({variant.least_nodes} nodes or more)" if variant.least_nodes > 1 else ""
        drawn = "" if variant.drawn else "; only where it is named"
        yield f"    {variant.name}: {variant.about}{nodes}{drawn}"
        indent += "    "
    yield f"{indent}targets: {', '.join(variant.targets)} (default {variant.targets[0]})"
    for parameter in variant.parameters:
        yield f"{indent}{parameter.name}: {parameter.about}; {parameter.allowed}; {_default(parameter)}"


def _default(parameter: Parameter) -> str:
    if parameter.default is None:
        return "drawn for each strike"
    return f"default {parameter.default}" if isinstance(parameter.default, str) else f"default {parameter.default:g}"
