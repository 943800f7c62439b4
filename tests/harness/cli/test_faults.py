"""`./highwater faults` prints the whole catalogue."""

from harness.cli.main import main
from nemesis.catalogue import CATALOGUE
from nemesis.targets import ROLES


def test_every_kind_variant_parameter_and_target_is_listed(capsys):
    assert main(["faults"]) == 0
    text = capsys.readouterr().out
    for kind in CATALOGUE.values():
        assert f"{kind.name}\n    {kind.about}" in text and kind.proof in text
        assert all(variant.name in text for variant in kind.variants)
        assert all(f"{parameter.name}: {parameter.about}" in text for variant in kind.variants for parameter in variant.parameters)
    assert all(f"  {role} " in text for role in ROLES)


def test_one_kind_can_be_asked_for(capsys):
    assert main(["faults", "clock"]) == 0
    assert capsys.readouterr().out.startswith("clock\n")


def test_an_unknown_kind_is_answered_with_the_nearest(capsys):
    assert main(["faults", "kil"]) == 254
    assert "did you mean `kill`?" in capsys.readouterr().err
