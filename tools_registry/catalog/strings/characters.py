"""Tools that count, choose or reorder the characters of a text."""

import collections


def text_length(text: str) -> int:
    """Count all characters of a text, spaces and punctuation included.

    Args:
        text: The text to measure.

    Returns:
        The number of characters; 0 for empty text.

    Examples:
        >>> text_length('hello')
        5
        >>> text_length('a b!')
        4
        >>> text_length('')
        0
    """
    return len(text)


def count_vowels(text: str) -> int:
    """Count the vowels a, e, i, o and u in a text, in upper or lower case.

    The letter y and accented letters do not count.

    Args:
        text: The text to count in.

    Returns:
        The number of vowels.

    Examples:
        >>> count_vowels('banana')
        3
        >>> count_vowels('Oh, Yes')
        2
        >>> count_vowels('rhythm')
        0
    """
    return sum(1 for character in text if character in "aeiouAEIOU")


def count_digit_characters(text: str) -> int:
    """Count the digits 0 to 9 in a text.

    Each digit counts on its own, so '12' has two.

    Args:
        text: The text to count in.

    Returns:
        The number of digits.

    Examples:
        >>> count_digit_characters('room 12b')
        2
        >>> count_digit_characters('-3.50')
        3
        >>> count_digit_characters('none')
        0
    """
    return sum(1 for character in text if character in "0123456789")


def count_uppercase_letters(text: str) -> int:
    """Count the upper-case letters in a text.

    Accented capitals count too; digits and punctuation do not.

    Args:
        text: The text to count in.

    Returns:
        The number of upper-case letters.

    Examples:
        >>> count_uppercase_letters('Hello World')
        2
        >>> count_uppercase_letters('NASA-1')
        4
        >>> count_uppercase_letters('abc')
        0
    """
    return sum(1 for character in text if character.isupper())


def count_distinct_characters(text: str) -> int:
    """Count how many different characters occur in a text.

    Upper and lower case are different characters; spaces and punctuation count too.

    Args:
        text: The text to count in.

    Returns:
        The number of different characters; 0 for empty text.

    Examples:
        >>> count_distinct_characters('banana')
        3
        >>> count_distinct_characters('Aa a')
        3
        >>> count_distinct_characters('')
        0
    """
    return len(set(text))


def count_character_frequencies(text: str) -> dict[str, int]:
    """Count how often each character occurs in a text.

    Upper and lower case are different characters; spaces and punctuation count too.

    Args:
        text: The text to count in.

    Returns:
        For each character its count, in order of first appearance; empty for empty text.

    Examples:
        >>> count_character_frequencies('banana')
        {'b': 1, 'a': 3, 'n': 2}
        >>> count_character_frequencies('Aa a')
        {'A': 1, 'a': 2, ' ': 1}
        >>> count_character_frequencies('')
        {}
    """
    return dict(collections.Counter(text))


def most_frequent_character(text: str) -> str:
    """Give the character that occurs most often in a text, the first to appear in case of a tie.

    Upper and lower case are different characters; spaces and punctuation count too.

    Args:
        text: The text to choose from.

    Returns:
        The most frequent character.

    Raises:
        ValueError: If the text is empty.

    Examples:
        >>> most_frequent_character('banana')
        'a'
        >>> most_frequent_character('baab')
        'b'
        >>> most_frequent_character('a b c')
        ' '
    """
    if not text:
        raise ValueError("the text must not be empty")
    return max(text, key=text.count)


def first_unrepeated_character(text: str) -> str:
    """Give the first character of a text that occurs in it exactly once.

    Upper and lower case are different characters; spaces and punctuation count too.

    Args:
        text: The text to choose from.

    Returns:
        The character, or empty text when every character is repeated or the text is empty.

    Examples:
        >>> first_unrepeated_character('swiss')
        'w'
        >>> first_unrepeated_character('aA')
        'a'
        >>> first_unrepeated_character('abab')
        ''
    """
    return next((character for character in text if text.count(character) == 1), "")


def keep_first_of_each_character(text: str) -> str:
    """Remove repeated characters from a text, keeping the first occurrence of each.

    Repeats need not be neighbors. Upper and lower case are different characters.

    Args:
        text: The text to reduce.

    Returns:
        The different characters in order of first appearance.

    Examples:
        >>> keep_first_of_each_character('banana')
        'ban'
        >>> keep_first_of_each_character('Aab a')
        'Aab '
        >>> keep_first_of_each_character('')
        ''
    """
    return "".join(dict.fromkeys(text))


def sort_characters(text: str) -> str:
    """Put the characters of a text into ascending order of their Unicode code points.

    So spaces and most punctuation come first, then digits, capitals A-Z and small letters a-z. Repeats
    are kept.

    Args:
        text: The text to reorder.

    Returns:
        The sorted characters.

    Examples:
        >>> sort_characters('banana')
        'aaabnn'
        >>> sort_characters('bA2 a')
        ' 2Aab'
        >>> sort_characters('')
        ''
    """
    return "".join(sorted(text))


def reverse_text(text: str) -> str:
    """Write the characters of a text in the opposite order.

    Case, spaces and punctuation are kept as they are.

    Args:
        text: The text to reverse.

    Returns:
        The text from last to first character.

    Examples:
        >>> reverse_text('abc')
        'cba'
        >>> reverse_text('No 12!')
        '!21 oN'
        >>> reverse_text('')
        ''
    """
    return text[::-1]


def rotate_text_left(text: str, count: int) -> str:
    """Move the given number of characters from the start of a text to its end, in their order.

    A count beyond the length goes round again; a negative count moves characters from the end to the
    start instead.

    Args:
        text: The text to rotate.
        count: How many characters to move; 0 moves none.

    Returns:
        The rotated text; empty text stays empty.

    Examples:
        >>> rotate_text_left('abcde', 2)
        'cdeab'
        >>> rotate_text_left('abc', -1)
        'cab'
        >>> rotate_text_left('', 3)
        ''
    """
    if not text:
        return text
    start = count % len(text)
    return text[start:] + text[:start]
