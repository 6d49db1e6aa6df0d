"""Tools that split a text into pieces, filter its lines, or join texts into one."""

import re


def split_on_separator(text: str, separator: str) -> list[str]:
    """Split a text at every occurrence of a separator.

    Pieces are not trimmed and empty pieces are kept, so there is always one piece more than there are
    separators. The comparison is case-sensitive.

    Args:
        text: The text to split.
        separator: The exact text to split at.

    Returns:
        The pieces in order; empty text gives a list with one empty text.

    Raises:
        ValueError: If separator is empty.

    Examples:
        >>> split_on_separator('a,b,c', ',')
        ['a', 'b', 'c']
        >>> split_on_separator('a, b,,', ',')
        ['a', ' b', '', '']
        >>> split_on_separator('', ',')
        ['']
    """
    if not separator:
        raise ValueError("separator must not be empty")
    return text.split(separator)


def split_on_whitespace(text: str) -> list[str]:
    """Split a text into its words at every run of whitespace.

    Spaces, tabs and line breaks all count; no piece is ever empty. Punctuation stays with its word.

    Args:
        text: The text to split.

    Returns:
        The words in order; empty list when the text is empty or only whitespace.

    Examples:
        >>> split_on_whitespace('the quick, brown fox')
        ['the', 'quick,', 'brown', 'fox']
        >>> split_on_whitespace('  a   b ')
        ['a', 'b']
        >>> split_on_whitespace('   ')
        []
    """
    return text.split()


def split_into_lines(text: str) -> list[str]:
    """Split a text into its lines, without the line breaks.

    A line break is a line feed, a carriage return, or the two together. Blank lines inside are kept as
    empty texts; a line break at the very end starts no further line.

    Args:
        text: The text to split.

    Returns:
        The lines in order; empty text gives an empty list.

    Examples:
        >>> split_into_lines('one\\ntwo')
        ['one', 'two']
        >>> split_into_lines('one\\n\\ntwo\\n')
        ['one', '', 'two']
        >>> split_into_lines('')
        []
    """
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if not lines[-1] else lines


def split_into_sentences(text: str) -> list[str]:
    """Split a text into sentences at whitespace that follows a full stop, '!' or '?'.

    Each sentence keeps its end mark and has no whitespace at its ends. Abbreviations are not known:
    'Dr. Lee' is split after 'Dr.'. A full stop inside a number such as 2.5 splits nothing.

    Args:
        text: The text to split.

    Returns:
        The sentences in order; empty list when the text is empty or only whitespace.

    Examples:
        >>> split_into_sentences('It rains. Why? Who knows')
        ['It rains.', 'Why?', 'Who knows']
        >>> split_into_sentences('Pay 2.5 now... Thanks!')
        ['Pay 2.5 now...', 'Thanks!']
        >>> split_into_sentences(' ')
        []
    """
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+", text.strip()) if sentence]


def split_into_characters(text: str) -> list[str]:
    """Split a text into its single characters.

    Spaces and punctuation are characters too; repeated characters are kept.

    Args:
        text: The text to split.

    Returns:
        The characters in order; empty text gives an empty list.

    Examples:
        >>> split_into_characters('abc')
        ['a', 'b', 'c']
        >>> split_into_characters('a a')
        ['a', ' ', 'a']
        >>> split_into_characters('')
        []
    """
    return list(text)


def chunk_text(text: str, size: int) -> list[str]:
    """Cut a text into pieces of equal length, starting from the left.

    The last piece is shorter when the length is not a multiple of the size.

    Args:
        text: The text to cut.
        size: The number of characters in each piece.

    Returns:
        The pieces in order; empty text gives an empty list.

    Raises:
        ValueError: If size is less than 1.

    Examples:
        >>> chunk_text('abcdef', 2)
        ['ab', 'cd', 'ef']
        >>> chunk_text('abcde', 3)
        ['abc', 'de']
        >>> chunk_text('', 3)
        []
    """
    if size < 1:
        raise ValueError("size must be at least 1")
    return [text[start : start + size] for start in range(0, len(text), size)]


def join_texts(texts: list[str], separator: str) -> str:
    """Join texts into one, with a separator between neighbors.

    The separator stands only between texts, never at the ends. Empty texts are joined like any other.

    Args:
        texts: The texts to join, in order.
        separator: The text to put between them; may be empty.

    Returns:
        The joined text; an empty list gives empty text.

    Examples:
        >>> join_texts(['a', 'b', 'c'], '-')
        'a-b-c'
        >>> join_texts(['a', '', 'c'], ', ')
        'a, , c'
        >>> join_texts([], ', ')
        ''
    """
    return separator.join(texts)


def join_with_and(texts: list[str]) -> str:
    """Join texts into an English enumeration with commas and a final 'and'.

    There is no comma before 'and'. Two texts are joined by ' and ' alone, a single text comes back as
    it is.

    Args:
        texts: The texts to enumerate, in order.

    Returns:
        The enumeration; an empty list gives empty text.

    Examples:
        >>> join_with_and(['red', 'green', 'blue'])
        'red, green and blue'
        >>> join_with_and(['red', 'green'])
        'red and green'
        >>> join_with_and([])
        ''
    """
    if len(texts) < 2:
        return "".join(texts)
    return ", ".join(texts[:-1]) + " and " + texts[-1]


def repeat_text(text: str, times: int) -> str:
    """Write a text several times in a row, with nothing in between.

    Args:
        text: The text to repeat.
        times: How many copies the result holds; 0 gives empty text.

    Returns:
        The copies joined together.

    Raises:
        ValueError: If times is negative.

    Examples:
        >>> repeat_text('ab', 3)
        'ababab'
        >>> repeat_text('-', 5)
        '-----'
        >>> repeat_text('ab', 0)
        ''
    """
    if times < 0:
        raise ValueError("times must not be negative")
    return text * times


def remove_blank_lines(text: str) -> str:
    """Remove the lines of a text that are empty or hold only whitespace.

    Lines are separated by line feeds. The lines that remain are unchanged, and no line feed follows
    the last of them.

    Args:
        text: The text to clean.

    Returns:
        The remaining lines joined by line feeds; empty when all lines are blank.

    Examples:
        >>> remove_blank_lines('a\\n\\nb')
        'a\\nb'
        >>> remove_blank_lines('  a\\n   \\nb\\n')
        '  a\\nb'
        >>> remove_blank_lines('\\n\\n')
        ''
    """
    return "\n".join(line for line in text.split("\n") if line.strip())


def keep_lines_containing(text: str, part: str) -> str:
    """Keep only the lines of a text that contain another text.

    Lines are separated by line feeds and kept unchanged and in order. The comparison is
    case-sensitive and also matches inside words; an empty part keeps every line.

    Args:
        text: The text whose lines are filtered.
        part: The text a line must contain.

    Returns:
        The kept lines joined by line feeds; empty when no line contains part.

    Examples:
        >>> keep_lines_containing('ERROR disk\\nok\\nERROR net', 'ERROR')
        'ERROR disk\\nERROR net'
        >>> keep_lines_containing('error\\nok', 'o')
        'error\\nok'
        >>> keep_lines_containing('error\\nok', 'ERROR')
        ''
    """
    return "\n".join(line for line in text.split("\n") if part in line)
