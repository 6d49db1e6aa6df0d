"""Tools that trim, clean, pad or limit a text."""


def trim_whitespace(text: str) -> str:
    """Remove whitespace from both ends of a text.

    Spaces, tabs and line breaks all count. Whitespace inside the text is kept.

    Args:
        text: The text to trim.

    Returns:
        The trimmed text; empty when the text is only whitespace.

    Examples:
        >>> trim_whitespace('  hi there ')
        'hi there'
        >>> trim_whitespace('word')
        'word'
        >>> trim_whitespace('   ')
        ''
    """
    return text.strip()


def collapse_whitespace(text: str) -> str:
    """Replace each run of whitespace by one space and remove whitespace from both ends.

    Tabs and line breaks count as whitespace, so the result is a single line.

    Args:
        text: The text to clean.

    Returns:
        The cleaned text; empty when the text is only whitespace.

    Examples:
        >>> collapse_whitespace('a   b')
        'a b'
        >>> collapse_whitespace('  one\\ttwo  three ')
        'one two three'
        >>> collapse_whitespace(' ')
        ''
    """
    return " ".join(text.split())


def remove_whitespace(text: str) -> str:
    """Remove every whitespace character from a text, inside it as well as at its ends.

    Spaces, tabs and line breaks all count.

    Args:
        text: The text to clean.

    Returns:
        The text without whitespace; empty when the text is only whitespace.

    Examples:
        >>> remove_whitespace('12 345 678')
        '12345678'
        >>> remove_whitespace(' a b\\n')
        'ab'
        >>> remove_whitespace('')
        ''
    """
    return "".join(text.split())


def strip_prefix(text: str, prefix: str) -> str:
    """Remove a prefix from the start of a text, once.

    The comparison is case-sensitive. A text that does not start with the prefix comes back unchanged;
    a prefix that stands there twice is removed only once.

    Args:
        text: The text to shorten.
        prefix: The exact beginning to remove; empty removes nothing.

    Returns:
        The text without the prefix.

    Examples:
        >>> strip_prefix('ID-42', 'ID-')
        '42'
        >>> strip_prefix('aab', 'a')
        'ab'
        >>> strip_prefix('id-42', 'ID-')
        'id-42'
    """
    return text.removeprefix(prefix)


def strip_suffix(text: str, suffix: str) -> str:
    """Remove a suffix from the end of a text, once.

    The comparison is case-sensitive. A text that does not end with the suffix comes back unchanged; a
    suffix that stands there twice is removed only once.

    Args:
        text: The text to shorten.
        suffix: The exact ending to remove; empty removes nothing.

    Returns:
        The text without the suffix.

    Examples:
        >>> strip_suffix('report.txt', '.txt')
        'report'
        >>> strip_suffix('100', '0')
        '10'
        >>> strip_suffix('report.TXT', '.txt')
        'report.TXT'
    """
    return text.removesuffix(suffix)


def pad_start(text: str, width: int, fill: str) -> str:
    """Add a fill character in front of a text until it has at least the given length.

    The text ends up at the right. A text that is already long enough comes back unchanged, never cut.

    Args:
        text: The text to pad.
        width: The wanted length in characters; zero or negative pads nothing.
        fill: The character to add, exactly one.

    Returns:
        The padded text.

    Raises:
        ValueError: If fill is not exactly one character.

    Examples:
        >>> pad_start('7', 3, '0')
        '007'
        >>> pad_start('-7', 4, '0')
        '00-7'
        >>> pad_start('12345', 3, '0')
        '12345'
    """
    if len(fill) != 1:
        raise ValueError("fill must be exactly one character")
    return text.rjust(width, fill)


def pad_end(text: str, width: int, fill: str) -> str:
    """Add a fill character behind a text until it has at least the given length.

    The text ends up at the left. A text that is already long enough comes back unchanged, never cut.

    Args:
        text: The text to pad.
        width: The wanted length in characters; zero or negative pads nothing.
        fill: The character to add, exactly one.

    Returns:
        The padded text.

    Raises:
        ValueError: If fill is not exactly one character.

    Examples:
        >>> pad_end('ab', 5, '.')
        'ab...'
        >>> pad_end('', 2, '-')
        '--'
        >>> pad_end('abc', 2, '.')
        'abc'
    """
    if len(fill) != 1:
        raise ValueError("fill must be exactly one character")
    return text.ljust(width, fill)


def truncate_with_ellipsis(text: str, max_length: int) -> str:
    """Cut a text that is too long and end it with three dots, within the maximum length.

    The dots count: a cut text has exactly max_length characters, the last three being dots. A text of
    at most max_length characters comes back unchanged. The cut may fall inside a word.

    Args:
        text: The text to limit.
        max_length: The largest length allowed, dots included; at least 3.

    Returns:
        The text, cut if needed.

    Raises:
        ValueError: If max_length is less than 3, even when the text is shorter.

    Examples:
        >>> truncate_with_ellipsis('a long sentence', 9)
        'a long...'
        >>> truncate_with_ellipsis('short', 5)
        'short'
        >>> truncate_with_ellipsis('shorter', 3)
        '...'
    """
    if max_length < 3:
        raise ValueError("max_length must be at least 3")
    return text if len(text) <= max_length else text[: max_length - 3] + "..."
