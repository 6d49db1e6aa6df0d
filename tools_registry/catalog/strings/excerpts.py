"""Tools that take a part of a text, by position or by the marks around it."""


def drop_first_characters(text: str, count: int) -> str:
    """Remove the given number of characters from the start of a text.

    Dropping as many characters as the text has, or more, gives empty text.

    Args:
        text: The text to shorten.
        count: How many characters to remove; 0 removes none.

    Returns:
        What is left of the text.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> drop_first_characters('hello', 2)
        'llo'
        >>> drop_first_characters('hello', 0)
        'hello'
        >>> drop_first_characters('hi', 5)
        ''
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return text[count:]


def drop_last_characters(text: str, count: int) -> str:
    """Remove the given number of characters from the end of a text.

    Dropping as many characters as the text has, or more, gives empty text.

    Args:
        text: The text to shorten.
        count: How many characters to remove; 0 removes none.

    Returns:
        What is left of the text.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> drop_last_characters('hello', 2)
        'hel'
        >>> drop_last_characters('hello', 0)
        'hello'
        >>> drop_last_characters('hi', 5)
        ''
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return text[: max(0, len(text) - count)]


def take_first_characters(text: str, count: int) -> str:
    """Keep only the given number of characters from the start of a text.

    A text with fewer characters comes back whole; nothing is added to mark a cut.

    Args:
        text: The text to cut.
        count: How many characters to keep; 0 gives empty text.

    Returns:
        The first characters of the text.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> take_first_characters('hello', 3)
        'hel'
        >>> take_first_characters('hi', 10)
        'hi'
        >>> take_first_characters('hi', 0)
        ''
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return text[:count]


def take_last_characters(text: str, count: int) -> str:
    """Keep only the given number of characters from the end of a text.

    A text with fewer characters comes back whole. The kept characters stay in their order.

    Args:
        text: The text to cut.
        count: How many characters to keep; 0 gives empty text.

    Returns:
        The last characters of the text.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> take_last_characters('hello', 3)
        'llo'
        >>> take_last_characters('hi', 10)
        'hi'
        >>> take_last_characters('hi', 0)
        ''
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return text[max(0, len(text) - count) :]


def text_before_first(text: str, separator: str) -> str:
    """Give the part of a text before the first occurrence of a separator.

    The separator itself is left out, nothing is trimmed, and the comparison is case-sensitive.

    Args:
        text: The text to cut.
        separator: The text that marks the cut.

    Returns:
        The part before it; empty when the text starts with the separator.

    Raises:
        ValueError: If separator is empty or does not occur.

    Examples:
        >>> text_before_first('ann@mail.org', '@')
        'ann'
        >>> text_before_first('a/b/c', '/')
        'a'
        >>> text_before_first('/b', '/')
        ''
    """
    if not separator or separator not in text:
        raise ValueError("separator is empty or does not occur in the text")
    return text.partition(separator)[0]


def text_after_first(text: str, separator: str) -> str:
    """Give the part of a text after the first occurrence of a separator.

    The separator itself is left out; later separators are kept. Nothing is trimmed, and the comparison
    is case-sensitive.

    Args:
        text: The text to cut.
        separator: The text that marks the cut.

    Returns:
        The part after it; empty when nothing follows.

    Raises:
        ValueError: If separator is empty or does not occur.

    Examples:
        >>> text_after_first('ann@mail.org', '@')
        'mail.org'
        >>> text_after_first('a/b/c', '/')
        'b/c'
        >>> text_after_first('a/', '/')
        ''
    """
    if not separator or separator not in text:
        raise ValueError("separator is empty or does not occur in the text")
    return text.partition(separator)[2]


def text_after_last(text: str, separator: str) -> str:
    """Give the part of a text after the last occurrence of a separator.

    The separator itself is left out. Nothing is trimmed, and the comparison is case-sensitive.

    Args:
        text: The text to cut.
        separator: The text that marks the cut.

    Returns:
        The part after it; empty when nothing follows.

    Raises:
        ValueError: If separator is empty or does not occur.

    Examples:
        >>> text_after_last('a/b/c', '/')
        'c'
        >>> text_after_last('file.tar.gz', '.')
        'gz'
        >>> text_after_last('a/', '/')
        ''
    """
    if not separator or separator not in text:
        raise ValueError("separator is empty or does not occur in the text")
    return text.rpartition(separator)[2]


def text_between(text: str, opening: str, closing: str) -> str:
    """Give the part of a text between the first opening mark and the next closing mark behind it.

    Both marks are left out, nesting is not followed, nothing is trimmed, and the comparison is
    case-sensitive. The two marks may be the same.

    Args:
        text: The text to cut.
        opening: The text that marks the start.
        closing: The text that marks the end.

    Returns:
        The part between the marks, possibly empty.

    Raises:
        ValueError: If a mark is empty, opening does not occur, or no closing follows it.

    Examples:
        >>> text_between('total (in EUR) due', '(', ')')
        'in EUR'
        >>> text_between('a|b|c', '|', '|')
        'b'
        >>> text_between('f()', '(', ')')
        ''
    """
    if not opening or not closing:
        raise ValueError("opening and closing must not be empty")
    found_opening = opening in text
    rest = text.partition(opening)[2]
    if not found_opening or closing not in rest:
        raise ValueError("the marks do not occur in this order")
    return rest.partition(closing)[0]
