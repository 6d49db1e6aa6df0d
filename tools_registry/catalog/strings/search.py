"""Tools that look for one text inside another, count it, or locate it."""

import re


def contains_text(text: str, part: str) -> bool:
    """Tell whether a text contains another text anywhere, also inside a word.

    The comparison is case-sensitive. Every text contains the empty text.

    Args:
        text: The text to look in.
        part: The text to look for.

    Returns:
        True if part occurs in text, else False.

    Examples:
        >>> contains_text('concatenate', 'cat')
        True
        >>> contains_text('Cat', 'cat')
        False
        >>> contains_text('abc', '')
        True
    """
    return part in text


def contains_word(text: str, word: str) -> bool:
    """Tell whether a text contains a word as a whole, not as part of a longer word.

    The comparison is case-sensitive. The character before and the one after the match must not be a
    letter, a digit or an underscore; punctuation next to the word does no harm.

    Args:
        text: The text to look in.
        word: The word to look for.

    Returns:
        True if the whole word occurs in text, else False.

    Raises:
        ValueError: If word is empty.

    Examples:
        >>> contains_word('the cat, asleep', 'cat')
        True
        >>> contains_word('concatenate', 'cat')
        False
        >>> contains_word('', 'cat')
        False
    """
    if not word:
        raise ValueError("word must not be empty")
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def starts_with_text(text: str, prefix: str) -> bool:
    """Tell whether a text begins with another text.

    The comparison is case-sensitive. Every text begins with the empty text.

    Args:
        text: The text to test.
        prefix: The beginning to look for.

    Returns:
        True if text begins with prefix, else False.

    Examples:
        >>> starts_with_text('INV-001', 'INV')
        True
        >>> starts_with_text('inv-001', 'INV')
        False
        >>> starts_with_text('', '')
        True
    """
    return text.startswith(prefix)


def ends_with_text(text: str, suffix: str) -> bool:
    """Tell whether a text ends with another text.

    The comparison is case-sensitive. Every text ends with the empty text.

    Args:
        text: The text to test.
        suffix: The ending to look for.

    Returns:
        True if text ends with suffix, else False.

    Examples:
        >>> ends_with_text('photo.png', '.png')
        True
        >>> ends_with_text('photo.PNG', '.png')
        False
        >>> ends_with_text('abc', '')
        True
    """
    return text.endswith(suffix)


def count_substring(text: str, part: str) -> int:
    """Count how often a text occurs inside another, matches not overlapping.

    Scanning goes from left to right and continues behind each match. The comparison is case-sensitive.

    Args:
        text: The text to look in.
        part: The text to count.

    Returns:
        The number of matches, 0 if there is none.

    Raises:
        ValueError: If part is empty.

    Examples:
        >>> count_substring('banana', 'an')
        2
        >>> count_substring('aaaa', 'aa')
        2
        >>> count_substring('', 'a')
        0
    """
    if not part:
        raise ValueError("part must not be empty")
    return text.count(part)


def count_overlapping_substring(text: str, part: str) -> int:
    """Count at how many positions of a text another text begins, matches may overlap.

    The comparison is case-sensitive.

    Args:
        text: The text to look in.
        part: The text to count.

    Returns:
        The number of positions, 0 if there is none.

    Raises:
        ValueError: If part is empty.

    Examples:
        >>> count_overlapping_substring('banana', 'ana')
        2
        >>> count_overlapping_substring('aaaa', 'aa')
        3
        >>> count_overlapping_substring('', 'a')
        0
    """
    if not part:
        raise ValueError("part must not be empty")
    return sum(1 for index in range(len(text)) if text.startswith(part, index))


def index_of_first_match(text: str, part: str) -> int:
    """Give the position at which a text first occurs inside another, counted from 0.

    The comparison is case-sensitive.

    Args:
        text: The text to look in.
        part: The text to look for.

    Returns:
        The index of the first character of the first match.

    Raises:
        ValueError: If part is empty or does not occur.

    Examples:
        >>> index_of_first_match('banana', 'an')
        1
        >>> index_of_first_match('banana', 'b')
        0
        >>> index_of_first_match('Aa', 'a')
        1
    """
    if not part or part not in text:
        raise ValueError("part is empty or does not occur in the text")
    return text.index(part)


def index_of_last_match(text: str, part: str) -> int:
    """Give the position at which a text last occurs inside another, counted from 0 at the start.

    The comparison is case-sensitive.

    Args:
        text: The text to look in.
        part: The text to look for.

    Returns:
        The index of the first character of the last match.

    Raises:
        ValueError: If part is empty or does not occur.

    Examples:
        >>> index_of_last_match('banana', 'an')
        3
        >>> index_of_last_match('banana', 'b')
        0
        >>> index_of_last_match('aaa', 'aa')
        1
    """
    if not part or part not in text:
        raise ValueError("part is empty or does not occur in the text")
    return text.rindex(part)


def index_of_nth_match(text: str, part: str, n: int) -> int:
    """Give the position of the n-th match of a text inside another, counted from 0.

    Matches are counted from 1, from left to right, not overlapping. The comparison is case-sensitive.

    Args:
        text: The text to look in.
        part: The text to look for.
        n: Which match is wanted; 1 is the first.

    Returns:
        The index of the first character of the n-th match.

    Raises:
        ValueError: If part is empty, n is less than 1, or there are fewer than n matches.

    Examples:
        >>> index_of_nth_match('banana', 'a', 2)
        3
        >>> index_of_nth_match('banana', 'b', 1)
        0
        >>> index_of_nth_match('aaaa', 'aa', 2)
        2
    """
    if not part or n < 1:
        raise ValueError("part must not be empty and n must be at least 1")
    if text.count(part) < n:
        raise ValueError("the text has fewer than n matches")
    pieces = text.split(part)
    return sum(len(piece) for piece in pieces[:n]) + len(part) * (n - 1)
