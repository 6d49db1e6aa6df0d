"""Tools that compare two texts or measure how alike texts are."""


def edit_distance(first: str, second: str) -> int:
    """Count the fewest single-character edits that turn one text into another (Levenshtein).

    An edit inserts, deletes or replaces one character; swapping two neighbors takes two edits. Upper
    and lower case are different. The texts may differ in length.

    Args:
        first: The one text.
        second: The other text.

    Returns:
        The number of edits; 0 when the texts are equal.

    Examples:
        >>> edit_distance('kitten', 'sitting')
        3
        >>> edit_distance('ab', 'ba')
        2
        >>> edit_distance('', 'abc')
        3
    """
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, start=1):
        above = row
        row = [i]
        for j, right in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (0 if left == right else 1)))
    return row[-1]


def hamming_distance(first: str, second: str) -> int:
    """Count the positions at which two texts of equal length have different characters.

    Upper and lower case are different.

    Args:
        first: The one text.
        second: The other text, of the same length.

    Returns:
        The number of differing positions; 0 when the texts are equal or both empty.

    Raises:
        ValueError: If the texts differ in length.

    Examples:
        >>> hamming_distance('karolin', 'kathrin')
        3
        >>> hamming_distance('ab', 'ba')
        2
        >>> hamming_distance('', '')
        0
    """
    if len(first) != len(second):
        raise ValueError("the texts must have the same length")
    return sum(1 for left, right in zip(first, second, strict=True) if left != right)


def common_prefix(first: str, second: str) -> str:
    """Give the longest beginning that two texts share.

    The comparison is case-sensitive.

    Args:
        first: The one text.
        second: The other text.

    Returns:
        The shared beginning; empty when the first characters differ or a text is empty.

    Examples:
        >>> common_prefix('flower', 'flow')
        'flow'
        >>> common_prefix('interval', 'internal')
        'inter'
        >>> common_prefix('abc', 'Abc')
        ''
    """
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]


def common_suffix(first: str, second: str) -> str:
    """Give the longest ending that two texts share.

    The comparison is case-sensitive. The ending is written in reading order.

    Args:
        first: The one text.
        second: The other text.

    Returns:
        The shared ending; empty when the last characters differ or a text is empty.

    Examples:
        >>> common_suffix('running', 'jumping')
        'ing'
        >>> common_suffix('abc', 'bc')
        'bc'
        >>> common_suffix('abc', '')
        ''
    """
    length = 0
    while length < min(len(first), len(second)) and first[-1 - length] == second[-1 - length]:
        length += 1
    return first[len(first) - length :]


def similarity_ratio(first: str, second: str) -> float:
    """Measure how alike two texts are, from 0 (nothing shared) to 1 (equal).

    The result is 1 minus the Levenshtein edit distance (insert, delete, replace) divided by the length
    of the longer text, not rounded. Upper and lower case are different.

    Args:
        first: The one text.
        second: The other text.

    Returns:
        The ratio; 1.0 when both texts are empty.

    Examples:
        >>> similarity_ratio('cart', 'card')
        0.75
        >>> similarity_ratio('abc', 'xyz')
        0.0
        >>> similarity_ratio('', '')
        1.0
    """
    if not first and not second:
        return 1.0
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, start=1):
        above = row
        row = [i]
        for j, right in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (0 if left == right else 1)))
    return 1 - row[-1] / max(len(first), len(second))


def closest_text(text: str, candidates: list[str]) -> str:
    """Choose the candidate with the smallest edit distance to a text, the first in case of a tie.

    The distance is the Levenshtein distance (insert, delete or replace one character). Upper and lower
    case are different.

    Args:
        text: The text to match.
        candidates: The texts to choose from.

    Returns:
        The closest candidate, as it stands in the list.

    Raises:
        ValueError: If there are no candidates.

    Examples:
        >>> closest_text('aple', ['pear', 'apple', 'plum'])
        'apple'
        >>> closest_text('cat', ['bat', 'car'])
        'bat'
        >>> closest_text('', ['abc', 'x'])
        'x'
    """

    def distance(candidate: str) -> int:
        row = list(range(len(candidate) + 1))
        for i, left in enumerate(text, start=1):
            above = row
            row = [i]
            for j, right in enumerate(candidate, start=1):
                row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (0 if left == right else 1)))
        return row[-1]

    if not candidates:
        raise ValueError("there must be at least one candidate")
    return min(candidates, key=distance)


def anagram_key(text: str) -> str:
    """Give a key that is equal for two texts exactly when they are anagrams of each other.

    The key is made of the letters and digits of the text, in lower case and sorted; spaces and
    punctuation are left out.

    Args:
        text: The text to make a key of.

    Returns:
        The sorted characters; empty when there are no letters or digits.

    Examples:
        >>> anagram_key('Listen')
        'eilnst'
        >>> anagram_key('a gentleman!')
        'aaeeglmnnt'
        >>> anagram_key('--')
        ''
    """
    return "".join(sorted(character for character in text.lower() if character.isalnum()))


def is_palindrome(text: str) -> bool:
    """Tell whether a text reads the same backwards, looking only at letters and digits.

    Case, spaces and punctuation are ignored. A text without letters and digits is a palindrome.

    Args:
        text: The text to test.

    Returns:
        True if it is a palindrome, else False.

    Examples:
        >>> is_palindrome('Never odd or even')
        True
        >>> is_palindrome('12 32')
        False
        >>> is_palindrome('')
        True
    """
    characters = [character for character in text.lower() if character.isalnum()]
    return characters == characters[::-1]


def equals_ignore_case(first: str, second: str) -> bool:
    """Tell whether two texts are the same apart from upper and lower case.

    Whitespace and punctuation must match exactly.

    Args:
        first: The one text.
        second: The other text.

    Returns:
        True if the texts are equal when case is ignored, else False.

    Examples:
        >>> equals_ignore_case('Yes', 'YES')
        True
        >>> equals_ignore_case('yes', 'yes ')
        False
        >>> equals_ignore_case('', '')
        True
    """
    return first.casefold() == second.casefold()
