import io
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.jepsen import edn
from analysis.jepsen.edn import Form, Keyword, Map, Symbol, Tagged, Unreadable, read_edn


def read(text: str) -> list:
    return list(read_edn(io.StringIO(text)))


def value(text: str):
    (found,) = read("[" + text + "]")
    assert isinstance(found, Form), found
    return found.value


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("nil", None), ("true", True), ("false", False),
        ("0", 0), ("-7", -7), ("+7", 7), ("12345678901234567890123N", 12345678901234567890123), ("4611686018427387904", 2**62),
        ("1.5", 1.5), ("-1e3", -1000.0), ("1.5M", Decimal("1.5")), ("1/2", Fraction(1, 2)), ("4/2", 2), ("##Inf", math.inf),
        (":a", Keyword("a")), (":a.b/c-d?", Keyword("a.b/c-d?")), ("sym", Symbol("sym")), ("-", Symbol("-")), ("a'", Symbol("a'")),
        (r'"a\"b\\c\n\t\u00e4\101"', 'a"b\\c\n\tä' + "A"), ('"two\nlines"', "two\nlines"), ('""', ""), (r'"\ud83d\ude00"', "😀"),
        (r"\a", "a"), (r"\newline", "\n"), (r"\space", " "), (r"\u0041", "A"), (r"\o101", "A"), (r"\(", "("), (r"\\", "\\"),
        ("[]", ()), ("(1 2)", (1, 2)), ("#{1 2}", (1, 2)), ("{}", Map(())),
        ("{:a 1, [1 2] {nil \"x\"}}", Map(((Keyword("a"), 1), ((1, 2), Map(((None, "x"),)))))),
        ('#inst "2026-01-01"', Tagged("inst", "2026-01-01")), ("#a.B{:x 1}", Tagged("a.B", Map(((Keyword("x"), 1),)))),
        ("#a.B [1 #c d]", Tagged("a.B", (1, Tagged("c", Symbol("d"))))),
        ("#:n{:a 1 :_/b 2 :c/d 3 e 4}", Map(((Keyword("n/a"), 1), (Keyword("b"), 2), (Keyword("c/d"), 3), (Symbol("e"), 4)))),
        ("[1 #_2 3 #_ #_ 4 5]", (1, 3)), ("[#_{:a [1]} ]", ()), ("^{:m 1} [x]", (Symbol("x"),)), ("^:m [x]", (Symbol("x"),)),
        ("[1 ; not this ] \"\n 2]", (1, 2)), ("[1,,2]", (1, 2)),
    ],
)  # fmt: skip
def test_a_form_is_what_clojure_means_by_it(text, meant):
    assert value(text) == meant


def test_not_a_number():
    assert math.isnan(value("##NaN"))


@pytest.mark.parametrize(
    "text", ["{:a 1}\n{:a 2}\n", "[{:a 1}\n{:a 2}]", "({:a 1}\n{:a 2})", " ; so\n\n[{:a 1} {:a 2}]", "#_{} {:a 1} {:a 2}"]
)
def test_a_history_is_one_vector_or_a_form_after_the_other(text):
    assert [form.value for form in read(text)] == [Map(((Keyword("a"), number),)) for number in (1, 2)]


@pytest.mark.parametrize("text", ["", " \n", "; only this", "[]", "#_ [1 2]"])
def test_nothing_is_no_form(text):
    assert read(text) == []


def test_forms_have_the_line_they_begin_in():
    assert [form.line for form in read('[\n\n{:a 1}\n{:b\n "x\ny"} {:c 3}\n 4]')] == [3, 4, 6, 7]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("{:index 1 :x [}", "`[` is closed by `}`"),
        ("{:index 1 :x}", "a map has a key without a value"),
        ("{:index 1 :x 1.2.3}", "`1.2.3` is no number"),
        (r'{:index 1 :x "\q"}', r"a string has the unknown escape `\q`"),
        (r"{:index 1 :x \nonsense}", r"there is no character `\nonsense`"),
        ("{:index 1 :x 'y}", "`'` is not EDN"),
        ("{:index 1 :x #_}", "`#_` has nothing behind it"),
        ("{:index 1 :x #:n[]}", "`#:n` is not followed by a map"),
        ("}", "`}` closes nothing"),
        ("{:index 1 :x [" + "[" * 1000, "is longer than 67,108,864 characters or nested deeper than 500"),
        ("{:index 1 :x [[:send 1", "it does not end before the next operation begins: it is cut off"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line_and_the_rest_is_read(bad, why):
    good = "{:index 0 :type :ok}"
    assert read(f"{good}\n{bad}\n{good}\n#jepsen.history.Op{good}\n") == [
        Form(1, value(good)), Unreadable(2, why), Form(3, value(good)), Form(4, Tagged("jepsen.history.Op", value(good))),
    ]  # fmt: skip


def test_a_file_that_is_cut_off_says_so():
    assert read("{:a 1}\n{:a ") == [Form(1, value("{:a 1}")), Unreadable(2, "the file ends in the middle of it: it is cut off")]
    assert read("[1\n2\n") == [Form(1, 1), Form(2, 2), Unreadable(3, "the file ends without its `]`: it is cut off")]
    assert read('{:a "x') == [Unreadable(1, "a string does not end before the file: it is cut off")]


def test_a_form_may_lie_across_the_edges_of_what_is_read_at_once(monkeypatch):
    text = '[{:abc "x\\"y" #_ 12 :d #inst "z"}\n #{1.25 nil} ; note\n \\newline :key/word]'
    whole = read(text)
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(edn, "CHUNK", size)
        assert read(text) == whole


def test_a_long_file_is_read_without_being_held():
    class Endless(io.TextIOBase):
        served = 0

        def read(self, size=-1):
            self.served += 1
            return "{:index 1 :type :ok}\n" * 1000

    stream = Endless()
    forms = read_edn(stream)  # type: ignore[arg-type]
    for _ in range(5_000):
        next(forms)
    assert 5 <= stream.served <= 8


_WORDS = st.from_regex(r"[a-z][a-z0-9\-]{0,5}", fullmatch=True).map(Keyword)
_ATOMS = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | _WORDS


def _collections(inner):
    return st.lists(inner, max_size=4).map(tuple) | st.lists(st.tuples(inner, inner), max_size=3).map(lambda pairs: Map(tuple(pairs)))


_FORMS = st.recursive(_ATOMS, _collections, max_leaves=8)


def _written(form) -> str:
    if isinstance(form, Keyword):
        return f":{form.name}"
    if isinstance(form, Map):
        return "{" + " ".join(f"{_written(key)} {_written(inner)}" for key, inner in form.pairs) + "}"
    if isinstance(form, tuple):
        return "[" + " ".join(map(_written, form)) + "]"
    if isinstance(form, str):
        return '"' + form.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return {None: "nil", True: "true", False: "false"}[form] if form is None or isinstance(form, bool) else str(form)


@given(st.lists(_FORMS.filter(lambda form: not isinstance(form, tuple)), max_size=5))
def test_what_is_written_is_read_back(forms):
    assert [form.value for form in read("\n".join(map(_written, forms)))] == forms


@given(st.text(alphabet="[](){}#_:\"\\; \n,1a^'{:index", max_size=60))
def test_no_text_is_too_strange(text):
    for found in read(text):
        assert found.line >= 1
