"""Tools that write numbers, lists and names as text for people to read."""

import json
import math
import re
from typing import Any


def format_decimals_half_up(value: float, places: int) -> str:
    """Write a number with a fixed number of decimals, rounding halves away from zero.

    So 2.5 gives '3' and -2.5 gives '-3' with 0 places. Rounding works on the decimal digits the number
    is displayed with, so 1.005 with 2 places gives '1.01'. Missing decimals are filled with zeros.
    Zero never gets a minus sign, and there are no thousands separators.

    Args:
        value: The number to write.
        places: How many decimals to write; 0 writes no decimal point.

    Returns:
        The number as text.

    Raises:
        ValueError: If places is negative or value is not finite.

    Examples:
        >>> format_decimals_half_up(2.5, 0)
        '3'
        >>> format_decimals_half_up(-1.005, 2)
        '-1.01'
        >>> format_decimals_half_up(7, 2)
        '7.00'
        >>> format_decimals_half_up(-0.001, 2)
        '0.00'
    """
    if places < 0 or not math.isfinite(value):
        raise ValueError("places must not be negative and value must be finite")
    parts = str(abs(value)).partition("e")
    mantissa, exponent = parts[0], parts[2]
    fraction = mantissa.partition(".")[2]
    shift = places + int(exponent or "0") - len(fraction)
    units = int(mantissa.replace(".", "")) * 10 ** max(shift, 0)
    divisor = 10 ** max(-shift, 0)
    units = (2 * units + divisor) // (2 * divisor)
    digits = str(units).rjust(places + 1, "0")
    sign = "-" if value < 0 and units > 0 else ""
    return sign + (digits[:-places] + "." + digits[-places:] if places else digits)


def format_decimals_half_even(value: float, places: int) -> str:
    """Write a number with a fixed number of decimals, rounding halves to the even last digit.

    So 2.5 gives '2' and 3.5 gives '4' with 0 places (banker's rounding). Rounding works on the decimal
    digits the number is displayed with, so 1.005 with 2 places gives '1.00'. Missing decimals are
    filled with zeros. Zero never gets a minus sign, and there are no thousands separators.

    Args:
        value: The number to write.
        places: How many decimals to write; 0 writes no decimal point.

    Returns:
        The number as text.

    Raises:
        ValueError: If places is negative or value is not finite.

    Examples:
        >>> format_decimals_half_even(2.5, 0)
        '2'
        >>> format_decimals_half_even(-1.015, 2)
        '-1.02'
        >>> format_decimals_half_even(7, 2)
        '7.00'
        >>> format_decimals_half_even(-0.001, 2)
        '0.00'
    """
    if places < 0 or not math.isfinite(value):
        raise ValueError("places must not be negative and value must be finite")
    parts = str(abs(value)).partition("e")
    mantissa, exponent = parts[0], parts[2]
    fraction = mantissa.partition(".")[2]
    shift = places + int(exponent or "0") - len(fraction)
    scaled = int(mantissa.replace(".", "")) * 10 ** max(shift, 0)
    divisor = 10 ** max(-shift, 0)
    units = scaled // divisor
    twice_rest = 2 * (scaled % divisor)
    if twice_rest > divisor or (twice_rest == divisor and units % 2 == 1):
        units += 1
    digits = str(units).rjust(places + 1, "0")
    sign = "-" if value < 0 and units > 0 else ""
    return sign + (digits[:-places] + "." + digits[-places:] if places else digits)


def format_thousands(value: int) -> str:
    """Write a whole number with a comma between groups of three digits.

    Groups are counted from the right; negative numbers keep their minus sign.

    Args:
        value: The whole number to write.

    Returns:
        The number as text.

    Examples:
        >>> format_thousands(1234567)
        '1,234,567'
        >>> format_thousands(-4500)
        '-4,500'
        >>> format_thousands(0)
        '0'
    """
    return f"{value:,}"


def format_ordinal(number: int) -> str:
    """Write a whole number with its English ordinal ending st, nd, rd or th.

    Numbers ending in 11, 12 and 13 take 'th'.

    Args:
        number: The number to write, 0 or more.

    Returns:
        The number in digits followed by its ending.

    Raises:
        ValueError: If number is negative.

    Examples:
        >>> format_ordinal(1)
        '1st'
        >>> format_ordinal(22)
        '22nd'
        >>> format_ordinal(113)
        '113th'
    """
    if number < 0:
        raise ValueError("number must not be negative")
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{endings.get(number % 10, 'th')}"


def fill_template(template: str, values: dict[str, Any]) -> str:
    """Replace each placeholder {name} of a template by the value with that name.

    Names are made of ASCII letters, digits and underscores; other braces stay as they are. Texts go in
    as they are, other values in JSON notation (true, null, 2.0, [1, 2]). Values put in are not scanned
    for placeholders, and values the template does not name are ignored.

    Args:
        template: The text with placeholders.
        values: The values by name.

    Returns:
        The filled text.

    Raises:
        ValueError: If the template names a value that is missing.

    Examples:
        >>> fill_template('Dear {name}, you owe {sum} EUR', {'name': 'Ann', 'sum': 12})
        'Dear Ann, you owe 12 EUR'
        >>> fill_template('{a}{a} { } {b}', {'a': '{b}', 'b': True})
        '{b}{b} { } true'
        >>> fill_template('', {'a': 1})
        ''
    """

    def write(name: str) -> str:
        if name not in values:
            raise ValueError(f"no value for {name}")
        value = values[name]
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return re.sub(r"\{([A-Za-z0-9_]+)\}", lambda match: write(match.group(1)), template)


def slugify(text: str) -> str:
    """Rewrite a text as lower-case words joined by hyphens, as used in web addresses.

    Every run of characters other than A-Z, a-z and 0-9 becomes one hyphen (accented letters count as
    such characters and are lost); no hyphen stands at either end.

    Args:
        text: The text to rewrite.

    Returns:
        The slug; empty when the text holds no ASCII letter or digit.

    Examples:
        >>> slugify('Hello, World!')
        'hello-world'
        >>> slugify('  10% off -- today ')
        '10-off-today'
        >>> slugify('?!')
        ''
    """
    return "-".join(word.lower() for word in re.findall(r"[A-Za-z0-9]+", text))


def get_initials(name: str) -> str:
    """Join the first characters of all words of a name, in upper case, with nothing in between.

    Words are separated by whitespace only, so a hyphenated name gives one initial.

    Args:
        name: The name or phrase.

    Returns:
        The initials; empty when there are no words.

    Examples:
        >>> get_initials('Ada King Lovelace')
        'AKL'
        >>> get_initials('mary-jane van dyke')
        'MVD'
        >>> get_initials('  ')
        ''
    """
    return "".join(word[0].upper() for word in name.split())


def mask_except_last(text: str, visible: int, mask: str) -> str:
    """Replace every character of a text by a mask character, except the last few.

    The length stays the same. Spaces and punctuation are masked too. A text with no more than the
    visible number of characters comes back unchanged.

    Args:
        text: The text to hide.
        visible: How many characters at the end stay readable; 0 hides all.
        mask: The mask character, exactly one.

    Returns:
        The masked text.

    Raises:
        ValueError: If visible is negative or mask is not exactly one character.

    Examples:
        >>> mask_except_last('123456789', 4, '*')
        '*****6789'
        >>> mask_except_last('pin', 0, '#')
        '###'
        >>> mask_except_last('ab', 4, '*')
        'ab'
    """
    if visible < 0 or len(mask) != 1:
        raise ValueError("visible must not be negative and mask must be one character")
    hidden = max(0, len(text) - visible)
    return mask * hidden + text[hidden:]


def format_table_row(cells: list[str], width: int) -> str:
    """Write cells side by side, each exactly the given width, with ' | ' in between.

    Shorter cells are filled with spaces on the right, longer ones are cut without a mark. The last
    cell is filled too, and nothing stands outside the first and last cell.

    Args:
        cells: The cell texts from left to right.
        width: The width of every cell in characters, at least 1.

    Returns:
        The row; an empty list gives empty text.

    Raises:
        ValueError: If width is less than 1.

    Examples:
        >>> format_table_row(['id', 'name'], 4)
        'id   | name'
        >>> format_table_row(['banana', 'x'], 3)
        'ban | x  '
        >>> format_table_row([], 5)
        ''
    """
    if width < 1:
        raise ValueError("width must be at least 1")
    return " | ".join(cell[:width].ljust(width) for cell in cells)


def format_numbered_list(items: list[str]) -> str:
    """Write texts on separate lines, each after its number counted from 1, as in '1. milk'.

    Lines are joined by line feeds, with none after the last. Numbers are not aligned.

    Args:
        items: The texts to list, in order.

    Returns:
        The numbered lines; an empty list gives empty text.

    Examples:
        >>> format_numbered_list(['milk', 'eggs'])
        '1. milk\\n2. eggs'
        >>> format_numbered_list([''])
        '1. '
        >>> format_numbered_list([])
        ''
    """
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
