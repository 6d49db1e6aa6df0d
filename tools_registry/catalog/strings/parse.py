"""Tools that read numbers, fields and other values out of a text."""

import math
import re


def extract_integers(text: str) -> list[int]:
    """List all whole numbers written in a text, in order.

    Every run of the digits 0 to 9 is a number, also inside a word. A minus directly before it makes it
    negative unless a letter or digit stands before the minus. '2.5' gives 2 and 5, '1,200' gives 1 and
    200.

    Args:
        text: The text to read.

    Returns:
        The numbers, repeats kept; empty when there are no digits.

    Examples:
        >>> extract_integers('12 apples, 7 pears')
        [12, 7]
        >>> extract_integers('from -3 to 4-5 in x9')
        [-3, 4, 5, 9]
        >>> extract_integers('none')
        []
    """
    return [int(found.group()) for found in re.finditer(r"(?<![0-9A-Za-z])-[0-9]+|[0-9]+", text)]


def extract_numbers(text: str) -> list[float]:
    """List all numbers written in a text, with their decimal fraction, in order.

    A number is a run of the digits 0 to 9, optionally followed by a point and more digits. A minus
    directly before it makes it negative unless a letter or digit stands before the minus. Thousands
    separators and exponents are not understood: '1,200' gives 1.0 and 200.0.

    Args:
        text: The text to read.

    Returns:
        The numbers as floats, repeats kept; empty when there are no digits.

    Raises:
        ValueError: If a number is too large for a float.

    Examples:
        >>> extract_numbers('3 kg at 2.50 each.')
        [3.0, 2.5]
        >>> extract_numbers('-0.5 and 4-5')
        [-0.5, 4.0, 5.0]
        >>> extract_numbers('none')
        []
    """
    pattern = r"(?<![0-9A-Za-z])-[0-9]+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
    numbers = [float(found.group()) for found in re.finditer(pattern, text)]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError("a number is too large")
    return numbers


def extract_emails(text: str) -> list[str]:
    """List all e-mail addresses written in a text, in order.

    An address has ASCII letters, digits or ._%+- before the @ and a domain with at least one dot whose
    last part is two or more letters. A full stop behind the address is left out.

    Args:
        text: The text to read.

    Returns:
        The addresses as written, repeats kept; empty when there is none.

    Examples:
        >>> extract_emails('Ask ann@mail.org or Bob.B@x.co.uk.')
        ['ann@mail.org', 'Bob.B@x.co.uk']
        >>> extract_emails('me@localhost')
        []
        >>> extract_emails('')
        []
    """
    pattern = r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}"
    return [found.group() for found in re.finditer(pattern, text)]


def parse_integer(text: str) -> int:
    """Read a text as one whole number in decimal notation.

    Whitespace at the ends, a leading + or - and leading zeros are allowed. Decimal points, thousands
    separators, underscores and units are not.

    Args:
        text: The text to read.

    Returns:
        The number.

    Raises:
        ValueError: If the text is not a whole number.

    Examples:
        >>> parse_integer('42')
        42
        >>> parse_integer(' -007 ')
        -7
        >>> parse_integer('+0')
        0
    """
    if not re.fullmatch(r"[+-]?[0-9]+", text.strip()):
        raise ValueError("the text is not a whole number")
    return int(text.strip())


def parse_decimal(text: str) -> float:
    """Read a text as one number in decimal notation, with or without a fraction.

    Whitespace at the ends and a leading + or - are allowed. The fraction is set off by a point with
    digits on both sides. Thousands separators, exponents and units are not allowed.

    Args:
        text: The text to read.

    Returns:
        The number, always as a float.

    Raises:
        ValueError: If the text is not such a number or is too large for a float.

    Examples:
        >>> parse_decimal('2.50')
        2.5
        >>> parse_decimal(' -3 ')
        -3.0
        >>> parse_decimal('+0.0')
        0.0
    """
    if not re.fullmatch(r"[+-]?[0-9]+(?:\.[0-9]+)?", text.strip()):
        raise ValueError("the text is not a decimal number")
    number = float(text.strip())
    if not math.isfinite(number):
        raise ValueError("the number is too large")
    return number


def parse_key_value_pairs(text: str, pair_separator: str, key_separator: str) -> dict[str, str]:
    """Read a text such as 'a=1; b=2' as a record of texts.

    Each pair is split at its first key separator; keys and values lose whitespace at both ends. Blank
    pairs are skipped, a value may be empty, and of a repeated key the last value is kept.

    Args:
        text: The text to read.
        pair_separator: The text between pairs.
        key_separator: The text between a key and its value.

    Returns:
        For each key its value, both as text; empty for blank text.

    Raises:
        ValueError: If a separator is empty, or a pair has no key separator or an empty key.

    Examples:
        >>> parse_key_value_pairs('a=1; b=2', ';', '=')
        {'a': '1', 'b': '2'}
        >>> parse_key_value_pairs('time: 10:30, time: 11:00, note:', ',', ':')
        {'time': '11:00', 'note': ''}
        >>> parse_key_value_pairs('', ';', '=')
        {}
    """
    if not pair_separator or not key_separator:
        raise ValueError("separators must not be empty")
    record = dict[str, str]()
    for pair in text.split(pair_separator):
        if not pair.strip():
            continue
        key, found, value = pair.partition(key_separator)
        if not found or not key.strip():
            raise ValueError("each pair needs a key and a key separator")
        record[key.strip()] = value.strip()
    return record


def parse_query_string(query: str) -> dict[str, str]:
    """Read a URL query string such as '?a=1&b=x+y' as a record of texts.

    A leading question mark is ignored. In names and values '+' means a space and %XX sequences are
    decoded as UTF-8; a % without two hexadecimal digits stays. A name without '=' has the value ''.
    Parts without a name are skipped; of a repeated name the last value is kept.

    Args:
        query: The query string, not a whole URL.

    Returns:
        For each name its value, both as text; empty for empty text.

    Raises:
        ValueError: If %XX sequences are not valid UTF-8.

    Examples:
        >>> parse_query_string('?q=red+shoes&page=2')
        {'q': 'red shoes', 'page': '2'}
        >>> parse_query_string('rate=5%25&rate=7%&x')
        {'rate': '7%', 'x': ''}
        >>> parse_query_string('')
        {}
    """

    def decode(part: str) -> str:
        try:
            return re.sub(
                r"(?:%[0-9A-Fa-f]{2})+",
                lambda match: bytes.fromhex(match.group().replace("%", "")).decode("utf-8"),
                part.replace("+", " "),
            )
        except UnicodeDecodeError as error:
            raise ValueError("a percent sequence is not valid UTF-8") from error

    pairs = [part.partition("=") for part in query.removeprefix("?").split("&")]
    return {decode(pair[0]): decode(pair[2]) for pair in pairs if pair[0]}


def parse_csv_line(line: str) -> list[str]:
    """Split one line of comma-separated values into its fields, respecting double quotes.

    A field that starts with a double quote runs to the closing quote, may hold commas, and loses its
    quotes; two quotes inside it stand for one. Fields are not trimmed; a quote later in an unquoted
    field is an ordinary character.

    Args:
        line: The line, without its line break.

    Returns:
        The fields in order; an empty line gives one empty field.

    Raises:
        ValueError: If a quote is not closed, or anything but a comma follows a closing quote.

    Examples:
        >>> parse_csv_line('Lee,"Oak St 1, Rome",42')
        ['Lee', 'Oak St 1, Rome', '42']
        >>> parse_csv_line('"say ""hi"" now", b,')
        ['say "hi" now', ' b', '']
        >>> parse_csv_line('')
        ['']
    """
    fields = list[str]()
    start = 0
    while start <= len(line):
        if line.startswith('"', start):
            found = re.compile(r'"((?:[^"]|"")*)"(?=,|\Z)').match(line, start)
            if found is None:
                raise ValueError("a quoted field is not closed properly")
            fields.append(found.group(1).replace('""', '"'))
            start = found.end() + 1
        else:
            comma = line.find(",", start)
            end = len(line) if comma < 0 else comma
            fields.append(line[start:end])
            start = end + 1
    return fields


def parse_duration_to_seconds(text: str) -> int:
    """Read a duration such as '1h 30m' as a number of seconds.

    Each part is a whole number and a unit: d for days, h for hours, m for minutes, s for seconds, in
    upper or lower case. Parts may come in any order, with or without spaces, and are added up, also
    when a unit is repeated.

    Args:
        text: The duration to read.

    Returns:
        The total number of seconds.

    Raises:
        ValueError: If the text is empty or holds anything else, such as a bare number or a fraction.

    Examples:
        >>> parse_duration_to_seconds('1h 30m')
        5400
        >>> parse_duration_to_seconds('2D5s')
        172805
        >>> parse_duration_to_seconds('0s')
        0
    """
    lowered = text.strip().lower()
    if not re.fullmatch(r"(?:[0-9]+\s*[dhms]\s*)+", lowered):
        raise ValueError("the text is not a duration")
    seconds = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    parts = re.finditer(r"([0-9]+)\s*([dhms])", lowered)
    return sum(int(part.group(1)) * seconds[part.group(2)] for part in parts)
