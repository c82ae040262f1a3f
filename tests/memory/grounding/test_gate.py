"""What a text says passes the gate, and nothing else does."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.memory import Author
from constat.memory.grounding import Claim, Force, Grounded, Reason, Refused, ground
from tests.memory.grounding.mutants import Said, mutants, spoken


def asked(
    text: str, *constants: str, negated: bool = False, force: Force = Force.STATED
) -> Grounded | Refused:
    """Claim constants of a text of a person, with the whole text as the quote."""
    return ground(Claim("p", constants, negated, force), text, text, Author.HUMAN)


def reason(
    text: str, *constants: str, negated: bool = False, force: Force = Force.STATED
) -> Reason | None:
    said = asked(text, *constants, negated=negated, force=force)
    return said.reason if isinstance(said, Refused) else None


def pieces(text: str, *constants: str) -> list[str]:
    said = asked(text, *constants)
    assert isinstance(said, Grounded), said
    content = text.encode()
    return [content[start:end].decode() for start, end in said.constants]


@pytest.mark.parametrize(
    ("text", "constant", "piece"),
    [
        ("the contract is 1 million dollars", "1000000", "1 million dollars"),
        ("the contract is $1.5 million", "1500000 USD", "$1.5 million"),
        ("it took 1.5 hours", "90 min", "1.5 hours"),
        ("it took one and a half hours", "1.5", "one and a half hours"),
        ("they own half a million shares", "500000", "half a million"),
        ("two hundred and five rooms are free", "205", "two hundred and five"),
        ("the discount is 5%", "0.05", "5%"),
        ("the discount is 5%", "5", "5%"),
        ("the fee is minus 5 euros", "-5 EUR", "minus 5 euros"),
        ("the fee is €5", "EUR", "€5"),
        ("it was signed on May 20th, 2024", "2024-05-20", "May 20th, 2024"),
        ("it was signed on 20.5.2024", "2024-05-20", "20.5.2024"),
        ("it begins at half past 11 in the morning", "11:30", "half past 11 in the morning"),
        ("it begins at quarter to 5 pm", "16:45", "quarter to 5 pm"),
        ("Müller–Lüdenscheidt is gold", "Müller-Lüdenscheidt", "Müller–Lüdenscheidt"),  # noqa: RUF001
        ("her tier is “Gold”", "gold", "Gold"),
        ("she pays by credit card", "credit_card", "credit card"),
        ("C009 lives in St. Louis", "St. Louis", "St. Louis"),
        ("the price is  7.50", "7.5", "7.50"),
    ],
)
def test_a_constant_may_be_written_in_another_way(text: str, constant: str, piece: str) -> None:
    assert pieces(text, constant) == [piece]


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("it begins at 12:30", "12"),
        ("order 1,250 is late", "1"),
        ("order C12 is late", "12"),
        ("order 12-7 is late", "12"),
        ("c009 is gold", "C009"),
        ("Ann-Marie is gold", "Ann"),
        ("O'Brien is gold", "Brien"),
        ("which one is gold", "1"),
        ("it took 12 minutes", "12 hours"),
        ("the fee is $5", "5 EUR"),
        ("the fee is 5k", "5"),
        ("the fee is 1.250,50", "1"),
        ("it was signed on 3/4/2024", "2024-04-03"),
        ("it was signed on May 20", "2024-05-20"),
        ("it begins at 5 pm", "05:00"),
        ("the file is a/b", "a.b"),
        ("the fee is minus 5", "5"),
        ("the fee is 5", "!"),
    ],
)
def test_a_constant_is_no_part_of_another_thing(text: str, constant: str) -> None:
    assert reason(text, constant) is Reason.CONSTANT


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Is C009 gold?", Reason.QUESTION),
        ("is C009 gold", Reason.QUESTION),
        ("If C009 were gold, we would know.", Reason.SUPPOSED),
        ("C009 may be gold.", Reason.SUPPOSED),
        ("I think C009 is gold.", Reason.SUPPOSED),
        ("C009 is not gold.", Reason.POLARITY),
        ("C009 isn’t gold.", Reason.POLARITY),  # noqa: RUF001
        ("C009 is anything but gold.", Reason.POLARITY),
        ("It is false that C009 is gold.", Reason.POLARITY),
        ("C009 ist nicht gold.", Reason.POLARITY),
        ("C009 is silver. D7 is gold.", Reason.SEVERAL_SENTENCES),
        ("C009 is silver.", Reason.CONSTANT),
        ("C009 is gold.", None),
        ("C009 is gold, but D7 is not.", None),
        ("No, C009 is gold.", None),
        ("C009 is not only gold.", None),
    ],
)
def test_a_sentence_has_to_state_it(text: str, why: Reason | None) -> None:
    assert reason(text, "C009", "gold") is why


@pytest.mark.parametrize(
    ("text", "constants", "passes"),
    [
        ("Ann has 3 orders and Bob has 5.", ("Ann", "3"), True),
        ("Ann has 3 orders and Bob has 5.", ("Bob", "5"), True),
        ("Ann has 3 orders and Bob has 5.", ("Ann", "5"), False),
        ("5 orders are of Bob and 3 of Ann.", ("Ann", "5"), False),
        ("5 orders are of Bob and 3 of Ann.", ("Ann", "3"), True),
        ("C009 paid 20 on 2024-05-20 and D7 paid 30.", ("C009", "30"), False),
        ("C009 paid 20 on 2024-05-20 and D7 paid 30.", ("C009", "20", "2024-05-20"), True),
        ("C009 bought 2 lamps for 30 euros.", ("C009", "30"), True),
    ],
)
def test_what_is_said_of_one_thing_is_not_lent_to_another(
    text: str, constants: tuple[str, ...], *, passes: bool
) -> None:
    assert (reason(text, *constants) is None) == passes


def test_a_denial_is_claimed_as_one() -> None:
    assert reason("C009 is not blocked.", "C009", negated=True) is None
    assert reason("C009 is blocked.", "C009", negated=True) is Reason.POLARITY
    assert reason("C009 is never not blocked.", "C009", negated=True) is Reason.POLARITY
    assert reason("D7 is gold, but C009 is not blocked.", "D7", negated=True) is Reason.POLARITY


@pytest.mark.parametrize("hedge", ["about", "more than", "at least", "up to", "nearly", ">"])
def test_a_bound_is_no_value(hedge: str) -> None:
    text = f"The contract is worth {hedge} $250,000."
    assert reason(text, "250000") is Reason.INEXACT
    assert reason(text, "250000", force=Force.MENTIONED) is None


def test_a_wish_is_one_of_a_person() -> None:
    wish = Claim("constraint", ("corp.com",), negated=True, force=Force.DEMANDED)
    text = "Never write to anyone at corp.com."
    assert isinstance(ground(wish, text, text, Author.HUMAN), Grounded)
    for author in (Author.TOOL, Author.ASSISTANT):
        assert ground(wish, text, text, author) == Refused(Reason.AUTHOR, "constraint")
    plain = "Nobody wrote to anyone at corp.com."
    assert ground(wish, plain, plain, Author.HUMAN) == Refused(Reason.NOT_DEMANDED)


def test_a_quote_is_found_however_it_is_spelled_and_its_bytes_are_those_of_the_text() -> None:
    text = "Só é isto: C009\u00a0is  “gold”,\nas of today."
    said = ground(Claim("tier", ("C009", "gold")), '"C009 is *"Gold"*..."', text, Author.HUMAN)
    assert isinstance(said, Grounded)
    assert not said.exact
    content = text.encode()
    assert content[slice(*said.quote)].decode() == "C009\u00a0is  “gold”"
    assert [content[slice(*one)] for one in said.constants] == [b"C009", b"gold"]


@pytest.mark.parametrize("quote", ["C00", "009", "is silver", "gold D7", "   "])
def test_a_quote_that_does_not_stand_there_is_none(quote: str) -> None:
    said = ground(Claim("tier", ("C009", "gold")), quote, "C009 is gold. D7", Author.HUMAN)
    assert isinstance(said, Refused)


def test_what_is_too_long_or_empty_is_refused() -> None:
    assert reason("a", "a" * 501) is Reason.TOO_LONG
    assert reason("a" * 3_000, "a") is Reason.TOO_LONG
    assert reason("a is b") is Reason.EMPTY
    assert reason("a is b", " ") is Reason.EMPTY


@given(st.text(max_size=60), st.text(max_size=8), st.text(max_size=12))
def test_any_text_is_answered_and_what_passes_stands_there(text: str, one: str, quote: str) -> None:
    said = ground(Claim("p", (one,), force=Force.MENTIONED), quote, text, Author.HUMAN)
    if isinstance(said, Grounded):
        content = text.encode("utf-8", "surrogatepass")
        for start, end in (said.sentence, said.quote, *said.constants):
            assert 0 <= start < end <= len(content)
            content[start:end].decode("utf-8", "surrogatepass")
        ((start, end),) = said.constants
        assert said.sentence[0] <= start < end <= said.sentence[1]


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_only_the_number_that_is_written_passes(written: int, claimed: int) -> None:
    text = f"The contract of C009 is worth {written:,} euros."
    assert (reason(text, "C009", str(claimed)) is None) == (written == claimed)


@pytest.mark.parametrize("piece", ["a ", "1,", "1-", "a1/", "not ", "one ", ". ", "a.b@", "May "])
def test_a_piece_repeated_without_end_is_read_in_linear_time(piece: str) -> None:
    # Were it read again from each character, this would not come to an end.
    text = piece * 5_000
    ground(Claim("p", ("zzz",)), text[:500], text, Author.HUMAN)
    ground(Claim("p", ("zzz",)), "not there", text, Author.HUMAN)


def marked(every: int) -> list[tuple[Said, int]]:
    return list(islice(spoken(), 0, None, every))


def check_marked(every: int) -> None:
    chosen = marked(every)
    refused = [
        said
        for said, _ in chosen
        if isinstance(ground(said.claim, said.quote, said.text, said.author), Refused)
    ]
    assert len(refused) <= 0.02 * len(chosen), refused[:5]


def check_mutants(every: int, least: int) -> None:
    rng = random.Random(every)
    others = [text for said, _ in spoken() for text in (said.text, *said.claim.constants)]
    found = 0
    for said, start in marked(every):
        given = [rng.choice(others), rng.choice(others)]
        for one in mutants(said, start, given, rng):
            assert isinstance(ground(one.claim, one.quote, one.text, one.author), Refused), one
            found += 1
    assert found > least


@pytest.mark.data
def test_values_that_people_marked_pass_and_mutants_do_not() -> None:
    check_marked(20)
    check_mutants(100, 400)


@pytest.mark.slow
def test_all_marked_values_and_their_mutants() -> None:
    check_marked(1)
    check_mutants(1, 50_000)
