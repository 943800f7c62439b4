from analysis.findings import SHOWN, Finding, Witness, merge


def witness(number: int) -> Witness:
    return Witness(f"value {number}", (number,), topic="t", part=0)


def test_counts_add_up_though_only_the_smallest_witnesses_are_shown():
    many = [Finding("lost", 3, tuple(witness(3 * number + more) for more in range(3))) for number in reversed(range(9))]
    found = merge(many)["lost"]
    assert found.count == 27
    assert [shown.identity for shown in found.witnesses] == [(number,) for number in range(SHOWN)]


def test_what_was_not_found_is_left_out_and_the_rest_is_in_the_table_s_order():
    found = merge([Finding("lost", 1, (witness(1),)), Finding("duplicate", 2, doubtful=1), Finding("phantom", 0)])
    assert list(found) == ["duplicate", "lost"]
    assert found["duplicate"].doubtful == 1
