"""Divisors, primes and other properties of whole numbers."""

import math


def greatest_common_divisor(first: int, second: int) -> int:
    """Give the largest whole number that divides two whole numbers.

    Signs are ignored. With one zero it is the other number's absolute value; two zeros give 0.

    Args:
        first: One whole number.
        second: The other whole number.

    Returns:
        The greatest common divisor, never negative.

    Examples:
        >>> greatest_common_divisor(12, 18)
        6
        >>> greatest_common_divisor(-8, 12)
        4
        >>> greatest_common_divisor(0, 5)
        5
    """
    return math.gcd(first, second)


def least_common_multiple(first: int, second: int) -> int:
    """Give the smallest positive whole number that two whole numbers divide.

    Signs are ignored. A zero among the two gives 0.

    Args:
        first: One whole number.
        second: The other whole number.

    Returns:
        The least common multiple, never negative.

    Examples:
        >>> least_common_multiple(4, 6)
        12
        >>> least_common_multiple(-3, 5)
        15
        >>> least_common_multiple(0, 7)
        0
    """
    return math.lcm(first, second)


def is_prime(number: int) -> bool:
    """Tell whether a whole number is prime.

    Numbers below 2, negative ones included, are not prime.

    Args:
        number: The whole number to test, at most 10**12.

    Returns:
        True if number has exactly two divisors, 1 and itself.

    Raises:
        ValueError: If number is above 10**12.

    Examples:
        >>> is_prime(7)
        True
        >>> is_prime(9)
        False
        >>> is_prime(1)
        False
        >>> is_prime(2)
        True
    """
    if number > 10**12:
        raise ValueError("number must be at most 10**12")
    if number < 4:
        return number >= 2
    return number % 2 == 1 and all(number % odd for odd in range(3, math.isqrt(number) + 1, 2))


def next_prime(number: int) -> int:
    """Give the smallest prime that is strictly greater than a number.

    A prime leads to the prime after it, never to itself. Anything below 2 leads to 2.

    Args:
        number: The whole number to start from, at most 10**12.

    Returns:
        The next prime.

    Raises:
        ValueError: If number is above 10**12.

    Examples:
        >>> next_prime(8)
        11
        >>> next_prime(7)
        11
        >>> next_prime(-5)
        2
    """
    if number > 10**12:
        raise ValueError("number must be at most 10**12")
    candidate = max(number + 1, 2)
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


def prime_factors(number: int) -> list[int]:
    """List the prime factors of a whole number, each as often as it divides it, ascending.

    Multiplied together they give the number. 1 has none and gives an empty list.

    Args:
        number: The whole number to factor, 1 to 10**12.

    Returns:
        The prime factors with repeats.

    Raises:
        ValueError: If number is not between 1 and 10**12.

    Examples:
        >>> prime_factors(12)
        [2, 2, 3]
        >>> prime_factors(13)
        [13]
        >>> prime_factors(1)
        []
    """
    if not 1 <= number <= 10**12:
        raise ValueError("number must be between 1 and 10**12")
    factors = [number]
    divisor = 2
    while divisor * divisor <= factors[-1]:
        if factors[-1] % divisor == 0:
            factors = [*factors[:-1], divisor, factors[-1] // divisor]
        else:
            divisor += 1
    return factors if number > 1 else []


def distinct_prime_factors(number: int) -> list[int]:
    """List the prime factors of a whole number, each only once, ascending.

    Differs from `prime_factors` in that repeats are left out. 1 gives an empty list.

    Args:
        number: The whole number to factor, 1 to 10**12.

    Returns:
        The different prime factors.

    Raises:
        ValueError: If number is not between 1 and 10**12.

    Examples:
        >>> distinct_prime_factors(12)
        [2, 3]
        >>> distinct_prime_factors(64)
        [2]
        >>> distinct_prime_factors(1)
        []
    """
    if not 1 <= number <= 10**12:
        raise ValueError("number must be between 1 and 10**12")
    factors = [number]
    divisor = 2
    while divisor * divisor <= factors[-1]:
        if factors[-1] % divisor == 0:
            factors = [*factors[:-1], divisor, factors[-1] // divisor]
        else:
            divisor += 1
    return sorted(set(factors)) if number > 1 else []


def list_divisors(number: int) -> list[int]:
    """List all positive divisors of a whole number, ascending, 1 and the number itself included.

    Args:
        number: The whole number to divide, 1 to 10**12.

    Returns:
        The divisors, each once.

    Raises:
        ValueError: If number is not between 1 and 10**12.

    Examples:
        >>> list_divisors(12)
        [1, 2, 3, 4, 6, 12]
        >>> list_divisors(9)
        [1, 3, 9]
        >>> list_divisors(1)
        [1]
    """
    if not 1 <= number <= 10**12:
        raise ValueError("number must be between 1 and 10**12")
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    large = [number // divisor for divisor in reversed(small) if divisor * divisor != number]
    return small + large


def sum_proper_divisors(number: int) -> int:
    """Add up the positive divisors of a whole number, the number itself left out.

    1 gives 0 and a prime gives 1. A number that equals its result is perfect, one below it abundant.

    Args:
        number: The whole number, 1 to 10**12.

    Returns:
        The sum of the proper divisors.

    Raises:
        ValueError: If number is not between 1 and 10**12.

    Examples:
        >>> sum_proper_divisors(12)
        16
        >>> sum_proper_divisors(6)
        6
        >>> sum_proper_divisors(1)
        0
    """
    if not 1 <= number <= 10**12:
        raise ValueError("number must be between 1 and 10**12")
    total = -number
    for divisor in range(1, math.isqrt(number) + 1):
        if number % divisor == 0:
            total += divisor
            if divisor * divisor != number:
                total += number // divisor
    return total


def collatz_step(number: int) -> int:
    """Take one step of the Collatz sequence: halve an even number, turn an odd one into 3 * number + 1.

    1 is odd and gives 4, so a repetition has to stop when it reaches 1.

    Args:
        number: The current number, a whole number of at least 1.

    Returns:
        The next number of the sequence.

    Raises:
        ValueError: If number is below 1.

    Examples:
        >>> collatz_step(6)
        3
        >>> collatz_step(7)
        22
        >>> collatz_step(1)
        4
    """
    if number < 1:
        raise ValueError("number must be at least 1")
    return number // 2 if number % 2 == 0 else 3 * number + 1


def factorial(number: int) -> int:
    """Multiply all whole numbers from 1 to a number.

    0 gives 1.

    Args:
        number: The last factor, 0 to 170.

    Returns:
        The exact product 1 * 2 * ... * number.

    Raises:
        ValueError: If number is not between 0 and 170.

    Examples:
        >>> factorial(5)
        120
        >>> factorial(1)
        1
        >>> factorial(0)
        1
    """
    if not 0 <= number <= 170:
        raise ValueError("number must be between 0 and 170")
    return math.factorial(number)
