"""Tools that count, choose, order or filter the words of a text."""

import collections
import string


def count_words(text: str) -> int:
    """Count the words of a text, a word being any run of characters without whitespace.

    A lone dash or other mark standing between spaces counts as a word too.

    Args:
        text: The text to count in.

    Returns:
        The number of words; 0 when the text is empty or only whitespace.

    Examples:
        >>> count_words('the quick brown fox')
        4
        >>> count_words('well-known - fact')
        3
        >>> count_words('  ')
        0
    """
    return len(text.split())


def nth_word(text: str, n: int) -> str:
    """Give the n-th word of a text, counted from 1 at the start.

    Words are separated by whitespace; punctuation stays with its word.

    Args:
        text: The text to take the word from.
        n: Which word is wanted; 1 is the first.

    Returns:
        The word.

    Raises:
        ValueError: If n is less than 1 or the text has fewer than n words.

    Examples:
        >>> nth_word('the quick fox', 2)
        'quick'
        >>> nth_word('Hello, world', 1)
        'Hello,'
        >>> nth_word('  one  ', 1)
        'one'
    """
    words = text.split()
    if n < 1 or n > len(words):
        raise ValueError("n must be from 1 to the number of words")
    return words[n - 1]


def first_words(text: str, count: int) -> str:
    """Keep only the given number of words from the start of a text.

    Words are separated by whitespace and come back joined by single spaces. A text with fewer words
    keeps all of them; nothing is added to mark a cut.

    Args:
        text: The text to cut.
        count: How many words to keep; 0 gives empty text.

    Returns:
        The first words.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> first_words('the quick brown fox', 2)
        'the quick'
        >>> first_words(' one   two ', 5)
        'one two'
        >>> first_words('one two', 0)
        ''
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return " ".join(text.split()[:count])


def longest_word(text: str) -> str:
    """Give the longest word of a text, the first one in case of a tie.

    Words are separated by whitespace; punctuation stays with its word and counts towards its length.

    Args:
        text: The text to choose from.

    Returns:
        The word with the most characters.

    Raises:
        ValueError: If the text has no words.

    Examples:
        >>> longest_word('a quick fox')
        'quick'
        >>> longest_word('one two six')
        'one'
        >>> longest_word('door gate!')
        'gate!'
    """
    words = text.split()
    if not words:
        raise ValueError("the text has no words")
    return max(words, key=len)


def shortest_word(text: str) -> str:
    """Give the shortest word of a text, the first one in case of a tie.

    Words are separated by whitespace; punctuation stays with its word and counts towards its length.

    Args:
        text: The text to choose from.

    Returns:
        The word with the fewest characters.

    Raises:
        ValueError: If the text has no words.

    Examples:
        >>> shortest_word('the quick ox')
        'ox'
        >>> shortest_word('one two six')
        'one'
        >>> shortest_word('to, at')
        'at'
    """
    words = text.split()
    if not words:
        raise ValueError("the text has no words")
    return min(words, key=len)


def reverse_word_order(text: str) -> str:
    """Write the words of a text in the opposite order, each word itself unchanged.

    Words are separated by whitespace and come back joined by single spaces.

    Args:
        text: The text to reorder.

    Returns:
        The words from last to first; empty when the text has no words.

    Examples:
        >>> reverse_word_order('one two three')
        'three two one'
        >>> reverse_word_order('  Hello,   you ')
        'you Hello,'
        >>> reverse_word_order('')
        ''
    """
    return " ".join(text.split()[::-1])


def count_word_frequencies(text: str) -> dict[str, int]:
    """Count how often each word occurs in a text, ignoring case and surrounding punctuation.

    Words are separated by whitespace, turned into lower case, and lose ASCII punctuation at both ends
    (an apostrophe or hyphen inside a word stays). Words of punctuation alone are skipped.

    Args:
        text: The text to count in.

    Returns:
        For each lower-case word its count, in order of first appearance; empty without words.

    Examples:
        >>> count_word_frequencies('The cat and the dog.')
        {'the': 2, 'cat': 1, 'and': 1, 'dog': 1}
        >>> count_word_frequencies("Don't stop - don't!")
        {"don't": 2, 'stop': 1}
        >>> count_word_frequencies('')
        {}
    """
    stripped = [piece.strip(string.punctuation) for piece in text.lower().split()]
    return dict(collections.Counter(word for word in stripped if word))


def most_frequent_word(text: str) -> str:
    """Give the word that occurs most often in a text, ignoring case and surrounding punctuation.

    Words are separated by whitespace, turned into lower case, and lose ASCII punctuation at both ends;
    words of punctuation alone are skipped. In case of a tie the word that appears first wins.

    Args:
        text: The text to choose from.

    Returns:
        The most frequent word, in lower case.

    Raises:
        ValueError: If the text has no words.

    Examples:
        >>> most_frequent_word('The cat and the dog')
        'the'
        >>> most_frequent_word('b a A b c')
        'b'
        >>> most_frequent_word('Yes!')
        'yes'
    """
    stripped = [piece.strip(string.punctuation) for piece in text.lower().split()]
    words = [word for word in stripped if word]
    if not words:
        raise ValueError("the text has no words")
    return max(words, key=words.count)


def remove_listed_words(text: str, unwanted: list[str]) -> str:
    """Remove every word of a text that is in a list of unwanted words, ignoring case.

    Words are separated by whitespace and must match as a whole, punctuation included ('the,' is not
    'the'). The remaining words keep their own case and are joined by single spaces.

    Args:
        text: The text to filter.
        unwanted: The words to remove, in any case; empty removes none.

    Returns:
        The remaining words; empty when none remain.

    Examples:
        >>> remove_listed_words('The cat in the hat', ['the', 'in'])
        'cat hat'
        >>> remove_listed_words('Stop the, now', ['the', 'STOP'])
        'the, now'
        >>> remove_listed_words('', ['the'])
        ''
    """
    lowered = [word.lower() for word in unwanted]
    return " ".join(word for word in text.split() if word.lower() not in lowered)


def sort_words_alphabetically(text: str) -> str:
    """Put the words of a text into alphabetical order, ignoring case.

    Words are separated by whitespace and come back joined by single spaces, repeats kept. Words that
    differ only in case keep their order. Digits and most punctuation sort before letters.

    Args:
        text: The text to reorder.

    Returns:
        The words from first to last in the alphabet; empty when the text has no words.

    Examples:
        >>> sort_words_alphabetically('pear Apple fig')
        'Apple fig pear'
        >>> sort_words_alphabetically('b B a 2')
        '2 a b B'
        >>> sort_words_alphabetically('')
        ''
    """
    return " ".join(sorted(text.split(), key=lambda word: word.lower()))


def keep_words_of_min_length(text: str, min_length: int) -> str:
    """Keep only the words of a text that have at least the given number of characters.

    Words are separated by whitespace; punctuation counts towards the length. The kept words stay in
    order and are joined by single spaces.

    Args:
        text: The text to filter.
        min_length: The smallest length kept, inclusive; 1 or less keeps every word.

    Returns:
        The kept words; empty when no word is long enough.

    Examples:
        >>> keep_words_of_min_length('a quick brown ox', 5)
        'quick brown'
        >>> keep_words_of_min_length('ox ox, oxen', 3)
        'ox, oxen'
        >>> keep_words_of_min_length('a b', 2)
        ''
    """
    return " ".join(word for word in text.split() if len(word) >= min_length)
