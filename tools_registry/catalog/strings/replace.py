"""Tools that replace, remove or insert parts of a text."""

import re


def replace_all(text: str, old: str, new: str) -> str:
    """Replace every occurrence of a text by another.

    Scanning goes from left to right without overlaps, and what was put in is not scanned again. The
    comparison is case-sensitive and also matches inside words.

    Args:
        text: The text to change.
        old: The text to replace.
        new: The text to put in; empty removes the matches.

    Returns:
        The changed text; unchanged when old does not occur.

    Raises:
        ValueError: If old is empty.

    Examples:
        >>> replace_all('a-b-c', '-', '+')
        'a+b+c'
        >>> replace_all('aaa', 'aa', 'a')
        'aa'
        >>> replace_all('Cat', 'cat', 'dog')
        'Cat'
    """
    if not old:
        raise ValueError("old must not be empty")
    return text.replace(old, new)


def replace_all_ignore_case(text: str, old: str, new: str) -> str:
    """Replace every occurrence of a text by another, upper and lower case being the same.

    The replacement goes in exactly as given, whatever the case of the match. Scanning goes from left
    to right without overlaps, and also matches inside words.

    Args:
        text: The text to change.
        old: The text to replace, in any case.
        new: The text to put in; empty removes the matches.

    Returns:
        The changed text; unchanged when old does not occur.

    Raises:
        ValueError: If old is empty.

    Examples:
        >>> replace_all_ignore_case('Cat and CAT', 'cat', 'dog')
        'dog and dog'
        >>> replace_all_ignore_case('a.B', '.b', '!')
        'a!'
        >>> replace_all_ignore_case('', 'x', 'y')
        ''
    """
    if not old:
        raise ValueError("old must not be empty")
    return re.sub(re.escape(old), lambda match: new, text, flags=re.IGNORECASE)


def replace_first(text: str, old: str, new: str) -> str:
    """Replace only the first occurrence of a text by another.

    The comparison is case-sensitive and also matches inside words.

    Args:
        text: The text to change.
        old: The text to replace.
        new: The text to put in; empty removes the match.

    Returns:
        The changed text; unchanged when old does not occur.

    Raises:
        ValueError: If old is empty.

    Examples:
        >>> replace_first('a-b-c', '-', '+')
        'a+b-c'
        >>> replace_first('abc', 'b', '')
        'ac'
        >>> replace_first('abc', 'x', 'y')
        'abc'
    """
    if not old:
        raise ValueError("old must not be empty")
    return text.replace(old, new, 1)


def replace_last(text: str, old: str, new: str) -> str:
    """Replace only the last occurrence of a text by another.

    The comparison is case-sensitive and also matches inside words.

    Args:
        text: The text to change.
        old: The text to replace.
        new: The text to put in; empty removes the match.

    Returns:
        The changed text; unchanged when old does not occur.

    Raises:
        ValueError: If old is empty.

    Examples:
        >>> replace_last('a-b-c', '-', '+')
        'a-b+c'
        >>> replace_last('aaa', 'aa', 'b')
        'ab'
        >>> replace_last('abc', 'x', 'y')
        'abc'
    """
    if not old:
        raise ValueError("old must not be empty")
    if old not in text:
        return text
    index = text.rindex(old)
    return text[:index] + new + text[index + len(old) :]


def replace_each(text: str, replacements: dict[str, str]) -> str:
    """Replace several texts, each by its own replacement, in one pass from left to right.

    What was put in is never replaced again, so two texts can be swapped. Where several keys match at
    the same place, the longest wins. The comparison is case-sensitive.

    Args:
        text: The text to change.
        replacements: For each text to replace, the text to put in; empty changes nothing.

    Returns:
        The changed text.

    Raises:
        ValueError: If a key is empty.

    Examples:
        >>> replace_each('ab', {'a': 'b', 'b': 'a'})
        'ba'
        >>> replace_each('cats and cat', {'cat': 'dog', 'cats': 'mice'})
        'mice and dog'
        >>> replace_each('abc', {})
        'abc'
    """
    if "" in replacements:
        raise ValueError("keys must not be empty")
    if not replacements:
        return text
    keys = sorted(replacements, key=len, reverse=True)
    return re.sub("|".join(re.escape(key) for key in keys), lambda match: replacements[match.group()], text)


def remove_first_substring(text: str, part: str) -> str:
    """Remove only the first occurrence of a text, leaving later ones in place.

    The comparison is case-sensitive. Whitespace around the match is kept. Useful as one step of a loop
    that ends when the part no longer occurs.

    Args:
        text: The text to change.
        part: The text to remove.

    Returns:
        The changed text; unchanged when part does not occur.

    Raises:
        ValueError: If part is empty.

    Examples:
        >>> remove_first_substring('banana', 'an')
        'bana'
        >>> remove_first_substring('aabb', 'ab')
        'ab'
        >>> remove_first_substring('abc', 'x')
        'abc'
    """
    if not part:
        raise ValueError("part must not be empty")
    return text.replace(part, "", 1)


def remove_characters(text: str, characters: str) -> str:
    """Remove every character of a text that is in a given set of characters.

    Each character of the set counts on its own, in any order. The comparison is case-sensitive.

    Args:
        text: The text to change.
        characters: The characters to remove; empty removes nothing.

    Returns:
        The text without these characters, the others in their order.

    Examples:
        >>> remove_characters('(030) 12-34', '()- ')
        '0301234'
        >>> remove_characters('Banana', 'ab')
        'Bnn'
        >>> remove_characters('abc', '')
        'abc'
    """
    return "".join(character for character in text if character not in characters)


def keep_only_characters(text: str, characters: str) -> str:
    """Keep only the characters of a text that are in a given set of characters.

    Each character of the set counts on its own, in any order. The comparison is case-sensitive.

    Args:
        text: The text to change.
        characters: The characters to keep; empty keeps nothing.

    Returns:
        The kept characters in their order.

    Examples:
        >>> keep_only_characters('(030) 12-34', '0123456789')
        '0301234'
        >>> keep_only_characters('Banana', 'ab')
        'aaa'
        >>> keep_only_characters('abc', '')
        ''
    """
    return "".join(character for character in text if character in characters)


def insert_text_at(text: str, index: int, insertion: str) -> str:
    """Insert a text before the character at a position counted from 0.

    Index 0 puts it at the start; an index equal to the length puts it at the end.

    Args:
        text: The text to change.
        index: The position, from 0 to the length of the text.
        insertion: The text to insert.

    Returns:
        The longer text.

    Raises:
        ValueError: If index is negative or greater than the length of the text.

    Examples:
        >>> insert_text_at('held', 2, 'llo wor')
        'hello world'
        >>> insert_text_at('abc', 3, '!')
        'abc!'
        >>> insert_text_at('', 0, 'x')
        'x'
    """
    if index < 0 or index > len(text):
        raise ValueError("index must be from 0 to the length of the text")
    return text[:index] + insertion + text[index:]
