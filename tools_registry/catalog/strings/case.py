"""Tools that change the letter case or the naming style of a text."""

import re


def to_upper_case(text: str) -> str:
    """Turn every letter of a text into upper case.

    Characters without case (digits, spaces, punctuation) stay as they are. Unicode rules apply, so
    the German sharp s becomes 'SS'.

    Args:
        text: The text to change.

    Returns:
        The text in upper case; empty text gives empty text.

    Examples:
        >>> to_upper_case('Hello')
        'HELLO'
        >>> to_upper_case('room 12b')
        'ROOM 12B'
        >>> to_upper_case('')
        ''
    """
    return text.upper()


def to_lower_case(text: str) -> str:
    """Turn every letter of a text into lower case.

    Characters without case (digits, spaces, punctuation) stay as they are.

    Args:
        text: The text to change.

    Returns:
        The text in lower case; empty text gives empty text.

    Examples:
        >>> to_lower_case('Hello')
        'hello'
        >>> to_lower_case('ROOM 12B')
        'room 12b'
        >>> to_lower_case('')
        ''
    """
    return text.lower()


def to_title_case(text: str) -> str:
    """Make the first character of each word upper case and the rest of the word lower case.

    Words are separated by whitespace only, so 'well-known' is one word and gets one capital. A word
    starting with a non-letter gets no capital. The whitespace between words is kept exactly.

    Args:
        text: The text to change.

    Returns:
        The text in title case; empty text gives empty text.

    Examples:
        >>> to_title_case('the QUICK fox')
        'The Quick Fox'
        >>> to_title_case('well-known NASA  site')
        'Well-known Nasa  Site'
        >>> to_title_case('2nd place')
        '2nd Place'
        >>> to_title_case('')
        ''
    """
    return re.sub(r"\S+", lambda match: match.group()[:1].upper() + match.group()[1:].lower(), text)


def capitalize_words(text: str) -> str:
    """Make the first character of each word upper case and leave all other characters unchanged.

    Unlike title case, capitals inside a word are kept. Words are separated by whitespace only, and the
    whitespace is kept exactly. A word starting with a non-letter is left unchanged.

    Args:
        text: The text to change.

    Returns:
        The text with each word capitalized; empty text gives empty text.

    Examples:
        >>> capitalize_words('the quick fox')
        'The Quick Fox'
        >>> capitalize_words('send to NASA via eMail')
        'Send To NASA Via EMail'
        >>> capitalize_words('')
        ''
    """
    return re.sub(r"\S+", lambda match: match.group()[:1].upper() + match.group()[1:], text)


def capitalize_first_letter(text: str) -> str:
    """Make the first letter of a text upper case and leave everything else unchanged.

    Leading characters that are not letters (spaces, digits, quotes) are skipped over and kept. Later
    capitals are kept, unlike in sentence case.

    Args:
        text: The text to change.

    Returns:
        The changed text; a text without letters comes back unchanged.

    Examples:
        >>> capitalize_first_letter('hello World')
        'Hello World'
        >>> capitalize_first_letter('"yes," she said')
        '"Yes," she said'
        >>> capitalize_first_letter('123')
        '123'
    """
    for index, character in enumerate(text):
        if character.isalpha():
            return text[:index] + character.upper() + text[index + 1 :]
    return text


def to_sentence_case(text: str) -> str:
    """Make the first letter of a text upper case and every other letter lower case.

    Leading characters that are not letters are skipped over and kept. The whole text counts as one
    sentence: letters after a full stop become lower case too.

    Args:
        text: The text to change.

    Returns:
        The changed text; a text without letters comes back unchanged.

    Examples:
        >>> to_sentence_case('HELLO World')
        'Hello world'
        >>> to_sentence_case('stop. Go NOW')
        'Stop. go now'
        >>> to_sentence_case('42!')
        '42!'
    """
    lowered = text.lower()
    for index, character in enumerate(lowered):
        if character.isalpha():
            return lowered[:index] + character.upper() + lowered[index + 1 :]
    return lowered


def swap_case(text: str) -> str:
    """Turn upper-case letters into lower case and lower-case letters into upper case.

    Characters without case stay as they are.

    Args:
        text: The text to change.

    Returns:
        The text with every letter's case swapped; empty text gives empty text.

    Examples:
        >>> swap_case('Hello')
        'hELLO'
        >>> swap_case('aB-12')
        'Ab-12'
        >>> swap_case('')
        ''
    """
    return text.swapcase()


def to_snake_case(text: str) -> str:
    """Rewrite a name or phrase as lower-case words joined by underscores.

    A new word starts after any run of characters other than A-Z, a-z and 0-9 (accented letters count
    as such characters and are dropped), and at a capital that follows a lower-case letter or a digit.
    A run of capitals stays one word. No underscore stands at either end.

    Args:
        text: The name or phrase to rewrite.

    Returns:
        The snake_case name; empty when the text holds no ASCII letter or digit.

    Examples:
        >>> to_snake_case('orderTotal')
        'order_total'
        >>> to_snake_case('  Order Total (EUR) ')
        'order_total_eur'
        >>> to_snake_case('parseHTTPReply')
        'parse_httpreply'
        >>> to_snake_case('--')
        ''
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return "_".join(word.lower() for word in re.split(r"[^A-Za-z0-9]+", spaced) if word)


def to_camel_case(text: str) -> str:
    """Rewrite a name or phrase as joined words, each but the first starting with a capital.

    A new word starts after any run of characters other than A-Z, a-z and 0-9 (accented letters count
    as such characters and are dropped), and at a capital that follows a lower-case letter or a digit.
    The first word is all lower case; later words are lower case after their first character.

    Args:
        text: The name or phrase to rewrite.

    Returns:
        The camelCase name; empty when the text holds no ASCII letter or digit.

    Examples:
        >>> to_camel_case('order_total')
        'orderTotal'
        >>> to_camel_case('Order TOTAL in eur')
        'orderTotalInEur'
        >>> to_camel_case('!?')
        ''
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    words = [word.lower() for word in re.split(r"[^A-Za-z0-9]+", spaced) if word]
    return "".join(words[:1] + [word[0].upper() + word[1:] for word in words[1:]])
