"""What task texts name and how they compare, on sentences made up for it."""

from __future__ import annotations

import pytest

from flowmind.build.induction.wording import Mention, agreement, mentions, stems, word_overlap

OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
NEXT_CUT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "<", "!=": "<"}


def said(text: str, value: float | str) -> set[str]:
    return {op for one in mentions(text) if one.value == value for op in one.ops}


@pytest.mark.parametrize(
    ("phrase", "op"),
    [
        ("Tins with fewer than 7 peas go back.", "<"),
        ("A rope of less than 7 metres is sold off.", "<"),
        ("Riders under 7 travel free.", "<"),
        ("Marks below 7 are crossed out.", "<"),
        ("Keep planks shorter than 7 feet.", "<"),
        ("Does it hold fewer red marbles than 7?", "<"),
        ("A basket that cannot hold 7 apples is useless.", "<"),
        ("There is not enough flour for it, or not enough for 7 loaves.", "<"),
        ("Crates of more than 7 kilos stay.", ">"),
        ("Children over 7 may climb.", ">"),
        ("If the level is above 7, open the gate.", ">"),
        ("Whenever the load exceeds 7 tons, a bell rings.", ">"),
        ("Nails longer than 7 centimetres are counted.", ">"),
        ("A wall higher than about 7 bricks needs a frame.", ">"),
        ("Is one more expensive than $7?", ">"),
        ("Wait as long as the pressure stays above 7 bar.", ">"),
        ("A crew needs at least 7 rowers.", ">="),
        ("Bring 7 candles or more.", ">="),
        ("Scores of 7 or higher pass.", ">="),
        ("No fewer than 7 judges sit.", ">="),
        ("It must not be lower than 7.", ">="),
        ("From 7 guests on, a second pot is made.", ">="),
        ("From level 7 upwards, doors are locked.", ">="),
        ("A minimum of 7 votes carries it.", ">="),
        ("She halts once the sum reaches 7.", ">="),
        ("7 pages at least are read.", ">="),
        ("As soon as there are 7 coins in the jar, it is opened.", ">="),
        ("After 7 misses the player is out.", ">="),
        ("Ages 7+ may enter.", ">="),
        ("A hand has at most 7 cards.", "<="),
        ("The sack takes up to 7 potatoes.", "<="),
        ("Gaps of 7 steps or less are jumped.", "<="),
        ("7 or fewer is fine.", "<="),
        ("Halve it until it is 7 or lower.", "<="),
        ("No more than 7 letters are kept.", "<="),
        ("The word does not exceed 7 signs.", "<="),
        ("A claim filed within the 7 days counts.", "<="),
        ("A visit costs 7 crowns at most.", "<="),
        ("The tank has a maximum of 7 litres.", "<="),
        ("This lift can carry 7 people.", "<="),
        ("Exactly 7 would still be fine, a box of 7 still fits.", "<="),
        ("Players leave one by one until 7 players remain.", "<="),
        ("A run of exactly 7 wins.", "=="),
        ("The answer is 7.", "=="),
        ("It equals 7 on good days.", "=="),
        ("Whoever rolls a number other than 7 goes on.", "!="),
        ("Is x >= 7 here?", ">="),
    ],
)
def test_a_phrase_makes_its_cut_and_no_other(phrase: str, op: str) -> None:
    found = mentions(phrase)
    assert op in said(phrase, 7)
    assert agreement(found, op, 7) == agreement(found, OPPOSITE[op], 7) == 1.0
    assert agreement(found, NEXT_CUT[op], 7) < 1.0


def test_agreement_ranks_the_said_cut_over_a_bare_number_over_another_cut_over_none() -> None:
    found = mentions("Trays with fewer than 6 eggs wait; there are 40 trays of clay.")
    assert [agreement(found, op, 6) for op in ("<", ">=", "<=", "==", "in")] == [1.0, 1.0, 0.3, 0.3, 0.3]
    assert agreement(mentions("Paint 40 trays."), "<", 40) == 0.5
    assert agreement(found, "<", 5) == 0.0
    assert agreement(mentions("It needs at least one."), ">=", True) == 0.0


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A town of 12,500 people, 3.75 miles wide.", [12500, 3.75]),
        ("Take [3,150] as the point and -4 as the step.", [3, 150, -4]),
        ("Twenty-five swans, a dozen geese, half a dozen ducks.", [25, 12, 6]),
        ("Three hundred and forty seats, half of them taken twice.", [340, 0.5, 2]),
        ("On 2031-04-05 at 10:45 all 9 bells rang.", [9]),
        ("The one on top and another one once stood here.", []),
        ("More than one of them fell at least once.", [1, 1]),
        ("Write 'so 5 or so' or “don't”.", ["so 5 or so", "don't"]),
        ("The sailors' knots are the cook's idea.", []),
    ],
)
def test_what_a_text_names(text: str, values: list[float | str]) -> None:
    assert [one.value for one in mentions(text)] == values


def test_a_number_too_long_to_be_one_is_no_number() -> None:
    assert mentions("9" * 5000 + " is long, and so is at least " + "8" * 19 + ".") == ()


def test_a_percentage_is_a_share_too_and_a_drop_is_negative_too() -> None:
    found = mentions("If sales are at least 15 percent lower, warn; over 40% they celebrate.")
    assert [(one.value, set(one.ops)) for one in found] == [
        (15, {">="}),
        (0.15, {">="}),
        (-15, {"<="}),
        (40, {">"}),
        (0.4, {">"}),
    ]


def test_ranges_compare_with_both_ends() -> None:
    assert said("Sizes between 30 and 34 are reserved.", 30) == {">="}
    assert said("Sizes from 30 to 34 are reserved.", 34) == {"<="}


@pytest.mark.parametrize(
    "text",
    [
        "It goes on until no plate is dirty.",
        "As long as anything is left, she stirs.",
        "If the shelf is empty, order.",
        "If there are no gulls, sleep.",
    ],
)
def test_emptiness_compares_with_zero(text: str) -> None:
    assert agreement(mentions(text), ">", 0) == agreement(mentions(text), "==", 0) == 1.0
    assert agreement(mentions(text), "<", 0) == 0.3


def test_a_limit_on_repeating_is_asked_before_each_time_and_a_condition_is_not() -> None:
    assert said("The pump runs until the pit is dry, but at most 5 times.", 5) == {"<"}
    assert said("Words that occur at most 5 times are rare.", 5) == {"<="}


def test_that_refers_to_the_number_before() -> None:
    assert said("The cart takes 90 stones. If there are more than that, a second cart comes.", 90) == {">"}


def test_a_phrase_reaches_its_own_number_only() -> None:
    text = "Of 2 throws at most 9 points apart the better counts. 3 plates or more than 8 cups are too much."
    assert (said(text, 2), said(text, 9)) == (set(), {"<="})
    assert (said(text, 3), said(text, 8)) == (set(), {">"})
    assert said("Cut it into 4 parts. At least once a day, look.", 4) == set()


def test_quoted_texts_compare_by_is_and_is_not() -> None:
    text = "If the colour is 'teal', paint; if the shape is not 'round', stop; then print 'done'."
    assert [(one.value, set(one.ops)) for one in mentions(text)] == [
        ("teal", {"=="}),
        ("round", {"!="}),
        ("done", set()),
    ]


def test_context_is_made_of_the_stems_around_in_the_same_sentence() -> None:
    text = "Gardens bloom. Baskets holding fewer than 7 ripe cherries are emptied. Snow follows."
    (found,) = (one for one in mentions(text) if one.value == 7)
    assert found == Mention(7, frozenset({"<"}), ("basket", "hold", "rip", "cherry", "empti"), text.index("7"))


def test_word_overlap_counts_the_words_of_names() -> None:
    known = stems("Visitors pay the prices of all tickets; measurements are rounded.")
    assert word_overlap(["ticket_price"], known) == 1.0
    assert word_overlap(["ticketCount"], known) == 0.5
    assert word_overlap(["measured"], known) == 1.0
    assert word_overlap(["x", "of_the"], known) == 0.0
    assert word_overlap(["price"], Mention(3, frozenset(), ("pric",), 0)) == 1.0
