"""Tools that encode or decode a text with a simple cipher or notation."""

import re


def caesar_shift(text: str, shift: int) -> str:
    """Move every letter A-Z and a-z of a text along the alphabet, going round from z to a.

    Case is kept; all other characters stay unchanged. A negative shift moves backwards, so shifting by
    the negative amount undoes a shift; a shift of 13 is rot13.

    Args:
        text: The text to encode.
        shift: How many letters to move; any whole number, multiples of 26 change nothing.

    Returns:
        The shifted text.

    Examples:
        >>> caesar_shift('abc xyz', 3)
        'def abc'
        >>> caesar_shift('Def!', -3)
        'Abc!'
        >>> caesar_shift('', 5)
        ''
    """
    lower = "abcdefghijklmnopqrstuvwxyz"
    moved = lower[shift % 26 :] + lower[: shift % 26]
    return text.translate(str.maketrans(lower + lower.upper(), moved + moved.upper()))


def atbash_cipher(text: str) -> str:
    """Mirror every letter A-Z and a-z of a text in the alphabet: a becomes z, b becomes y, and so on.

    Case is kept; all other characters stay unchanged. Applying it twice gives the text back.

    Args:
        text: The text to encode or decode.

    Returns:
        The mirrored text.

    Examples:
        >>> atbash_cipher('abc')
        'zyx'
        >>> atbash_cipher('Zoo 7')
        'All 7'
        >>> atbash_cipher('')
        ''
    """
    lower = "abcdefghijklmnopqrstuvwxyz"
    mirrored = lower[::-1]
    return text.translate(str.maketrans(lower + lower.upper(), mirrored + mirrored.upper()))


def vigenere_encrypt(text: str, key: str) -> str:
    """Move each letter of a text forwards by the alphabet position of the matching key letter.

    Key letter a moves by 0, b by 1, z by 25; the key repeats as needed and its case does not matter.
    Case of the text is kept. Characters other than A-Z and a-z stay unchanged and use up no key letter.

    Args:
        text: The text to encrypt.
        key: The key word, letters A-Z or a-z only.

    Returns:
        The encrypted text.

    Raises:
        ValueError: If key is empty or holds anything but ASCII letters.

    Examples:
        >>> vigenere_encrypt('attack', 'lemon')
        'lxfopv'
        >>> vigenere_encrypt('Ab, z', 'b')
        'Bc, a'
        >>> vigenere_encrypt('', 'key')
        ''
    """
    if not re.fullmatch(r"[A-Za-z]+", key):
        raise ValueError("key must be one or more ASCII letters")
    shifts = [ord(letter) - ord("a") for letter in key.lower()]
    result = list[str]()
    used = 0
    for character in text:
        if re.fullmatch(r"[A-Za-z]", character):
            base = ord("a") if character.islower() else ord("A")
            result.append(chr(base + (ord(character) - base + shifts[used % len(shifts)]) % 26))
            used += 1
        else:
            result.append(character)
    return "".join(result)


def vigenere_decrypt(text: str, key: str) -> str:
    """Move each letter of a text backwards by the alphabet position of the matching key letter.

    Undoes the Vigenere encryption with the same key. Key letter a moves by 0, b by 1, z by 25; the key
    repeats as needed and its case does not matter. Case of the text is kept. Characters other than A-Z
    and a-z stay unchanged and use up no key letter.

    Args:
        text: The text to decrypt.
        key: The key word, letters A-Z or a-z only.

    Returns:
        The decrypted text.

    Raises:
        ValueError: If key is empty or holds anything but ASCII letters.

    Examples:
        >>> vigenere_decrypt('lxfopv', 'lemon')
        'attack'
        >>> vigenere_decrypt('Bc, a', 'B')
        'Ab, z'
        >>> vigenere_decrypt('', 'key')
        ''
    """
    if not re.fullmatch(r"[A-Za-z]+", key):
        raise ValueError("key must be one or more ASCII letters")
    shifts = [ord(letter) - ord("a") for letter in key.lower()]
    result = list[str]()
    used = 0
    for character in text:
        if re.fullmatch(r"[A-Za-z]", character):
            base = ord("a") if character.islower() else ord("A")
            result.append(chr(base + (ord(character) - base - shifts[used % len(shifts)]) % 26))
            used += 1
        else:
            result.append(character)
    return "".join(result)


def run_length_encode(text: str) -> str:
    """Write each run of equal neighboring characters as its length followed by the character.

    The length is written also when it is 1. Upper and lower case are different characters.

    Args:
        text: The text to encode, without the digits 0 to 9.

    Returns:
        The encoded text; empty text stays empty.

    Raises:
        ValueError: If the text holds a digit, as decoding would be ambiguous.

    Examples:
        >>> run_length_encode('aaab')
        '3a1b'
        >>> run_length_encode('aAa  ')
        '1a1A1a2 '
        >>> run_length_encode('')
        ''
    """
    if re.search(r"[0-9]", text):
        raise ValueError("the text must not hold digits")
    runs = re.finditer(r"(.)\1*", text, flags=re.DOTALL)
    return "".join(f"{len(run.group())}{run.group()[0]}" for run in runs)


def run_length_decode(encoded: str) -> str:
    """Expand a text of lengths, each followed by one character, into the runs they stand for.

    The length may have several digits and is required also for a single character.

    Args:
        encoded: Zero or more pairs of a length of 1 or more and one character that is not a digit.

    Returns:
        The expanded text; empty text stays empty.

    Raises:
        ValueError: If a length is missing or zero, or the text ends with a length.

    Examples:
        >>> run_length_decode('3a1b')
        'aaab'
        >>> run_length_decode('12-1>')
        '------------>'
        >>> run_length_decode('')
        ''
    """
    if not re.fullmatch(r"(?:0*[1-9][0-9]*[^0-9])*", encoded):
        raise ValueError("the text is not made of lengths, each followed by one character")
    runs = re.finditer(r"([0-9]+)([^0-9])", encoded)
    return "".join(run.group(2) * int(run.group(1)) for run in runs)


def text_to_hex(text: str) -> str:
    """Write the UTF-8 bytes of a text as pairs of lower-case hexadecimal digits, without separators.

    Characters outside ASCII take two to four bytes.

    Args:
        text: The text to encode.

    Returns:
        The hexadecimal digits; empty text stays empty.

    Examples:
        >>> text_to_hex('Hi')
        '4869'
        >>> text_to_hex('a-z')
        '612d7a'
        >>> text_to_hex('')
        ''
    """
    return text.encode("utf-8").hex()


def hex_to_text(digits: str) -> str:
    """Read pairs of hexadecimal digits as the UTF-8 bytes of a text.

    Digits may be upper or lower case; separators and spaces are not allowed.

    Args:
        digits: An even number of hexadecimal digits.

    Returns:
        The decoded text; empty text stays empty.

    Raises:
        ValueError: If the digits are odd in number, not hexadecimal, or not valid UTF-8.

    Examples:
        >>> hex_to_text('4869')
        'Hi'
        >>> hex_to_text('612D7A')
        'a-z'
        >>> hex_to_text('')
        ''
    """
    if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", digits):
        raise ValueError("digits must be pairs of hexadecimal digits")
    try:
        return bytes.fromhex(digits).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("the bytes are not valid UTF-8") from error


def text_to_letter_positions(text: str) -> list[int]:
    """List the alphabet position of each letter of a text, from 1 for a to 26 for z.

    Case does not matter. Characters other than A-Z and a-z are left out.

    Args:
        text: The text whose letters are numbered.

    Returns:
        The positions in the order of the letters; empty when there is no letter.

    Examples:
        >>> text_to_letter_positions('abz')
        [1, 2, 26]
        >>> text_to_letter_positions('C-3 a')
        [3, 1]
        >>> text_to_letter_positions('42')
        []
    """
    return ["abcdefghijklmnopqrstuvwxyz".index(letter.lower()) + 1 for letter in re.findall(r"[A-Za-z]", text)]
