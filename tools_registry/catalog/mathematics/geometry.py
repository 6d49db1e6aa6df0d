"""Distances, midpoints and areas."""

import math


def euclidean_distance(first: list[float], second: list[float]) -> float:
    """Give the straight-line distance between two points.

    Differs from `manhattan_distance` in how the coordinate differences combine: the root of the summed
    squares.

    Args:
        first: Coordinates of one point, in any number of dimensions, at least one.
        second: Coordinates of the other point, as many.

    Returns:
        The distance, always a float; 0.0 for equal points.

    Raises:
        ValueError: If the points have no coordinates or not equally many, or the result is too large for a
            float.

    Examples:
        >>> euclidean_distance([0, 0], [3, 4])
        5.0
        >>> euclidean_distance([-2], [5])
        7.0
        >>> euclidean_distance([1, 2, 3], [1, 2, 3])
        0.0
    """
    if not first or len(first) != len(second):
        raise ValueError("the points need equally many coordinates, at least one")
    result = math.dist(first, second)
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def manhattan_distance(first: list[float], second: list[float]) -> float:
    """Give the distance between two points along a grid.

    Differs from `euclidean_distance` in how the coordinate differences combine: their plain sum, without
    signs.

    Args:
        first: Coordinates of one point, in any number of dimensions, at least one.
        second: Coordinates of the other point, as many.

    Returns:
        The distance; an integer if all coordinates are integers, otherwise a float.

    Raises:
        ValueError: If the points have no coordinates or not equally many, or the result is too large for a
            float.

    Examples:
        >>> manhattan_distance([0, 0], [3, 4])
        7
        >>> manhattan_distance([1, 1], [-1, 0.5])
        2.5
        >>> manhattan_distance([2, 9], [2, 9])
        0
    """
    if not first or len(first) != len(second):
        raise ValueError("the points need equally many coordinates, at least one")
    steps = [abs(a - b) for a, b in zip(first, second, strict=True)]
    if all(isinstance(step, int) for step in steps):
        return sum(steps)
    try:
        result = math.fsum(steps)
    except OverflowError as error:
        raise ValueError("the result is too large") from error
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def midpoint(first: list[float], second: list[float]) -> list[float]:
    """Give the point halfway between two points.

    Args:
        first: Coordinates of one point, in any number of dimensions, at least one.
        second: Coordinates of the other point, as many.

    Returns:
        The coordinates of the middle, always floats.

    Raises:
        ValueError: If the points have no coordinates or not equally many, or the result is too large for a
            float.

    Examples:
        >>> midpoint([0, 0], [4, 10])
        [2.0, 5.0]
        >>> midpoint([1], [2])
        [1.5]
        >>> midpoint([3, -3], [3, -3])
        [3.0, -3.0]
    """
    if not first or len(first) != len(second):
        raise ValueError("the points need equally many coordinates, at least one")
    result = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    if not all(math.isfinite(number) for number in result):
        raise ValueError("a result is too large")
    return result


def circle_area(radius: float) -> float:
    """Give the area of a circle from its radius.

    Args:
        radius: The radius, not the diameter; at least 0.

    Returns:
        Pi times the squared radius, as a float, not rounded; 0.0 for radius 0.

    Raises:
        ValueError: If radius is negative, or the result is too large for a float.

    Examples:
        >>> circle_area(1)
        3.141592653589793
        >>> circle_area(2)
        12.566370614359172
        >>> circle_area(0)
        0.0
    """
    if radius < 0:
        raise ValueError("radius must not be negative")
    result = math.pi * radius * radius
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def triangle_area_from_sides(first: float, second: float, third: float) -> float:
    """Give the area of a triangle from the lengths of its three sides (Heron's formula).

    The order of the sides does not matter. A flat triangle, one side as long as the other two together,
    gives 0.0.

    Args:
        first: Length of one side, greater than 0.
        second: Length of another side, greater than 0.
        third: Length of the remaining side, greater than 0.

    Returns:
        The area, always a float, not rounded.

    Raises:
        ValueError: If a side is not positive, or one side is longer than the other two together, or the
            result is too large for a float.

    Examples:
        >>> triangle_area_from_sides(3, 4, 5)
        6.0
        >>> triangle_area_from_sides(13, 5, 12)
        30.0
        >>> triangle_area_from_sides(1, 2, 3)
        0.0
    """
    short, middle, long = sorted([first, second, third])
    if short <= 0:
        raise ValueError("each side must be greater than 0")
    if short + middle < long:
        raise ValueError("these sides do not form a triangle")
    product = (long + (middle + short)) * (short - (long - middle))
    product = product * (short + (long - middle)) * (long + (middle - short))
    result = math.sqrt(max(product, 0)) / 4
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def polygon_area(vertices: list[list[float]]) -> float:
    """Give the area inside a polygon from its corners (shoelace formula).

    The corners go round the polygon in either direction; the last one joins the first by itself. Sides must
    not cross each other. Corners in one line give 0.0.

    Args:
        vertices: The corners in order, each [x, y]; at least three.

    Returns:
        The area, always a float, never negative.

    Raises:
        ValueError: If there are fewer than three corners, or a corner has not exactly two coordinates, or the
            result is too large for a float.

    Examples:
        >>> polygon_area([[0, 0], [4, 0], [4, 3], [0, 3]])
        12.0
        >>> polygon_area([[0, 0], [0, 2], [2, 0]])
        2.0
        >>> polygon_area([[0, 0], [1, 1], [2, 2]])
        0.0
    """
    if len(vertices) < 3 or any(len(vertex) != 2 for vertex in vertices):
        raise ValueError("at least three corners with two coordinates each are needed")
    following = vertices[1:] + vertices[:1]
    crosses = [a[0] * b[1] - b[0] * a[1] for a, b in zip(vertices, following, strict=True)]
    if not all(math.isfinite(cross) for cross in crosses):
        raise ValueError("the coordinates are too large")
    try:
        return abs(math.fsum(crosses)) / 2
    except OverflowError as error:
        raise ValueError("the result is too large") from error
