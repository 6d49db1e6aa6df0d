"""What the steps of a program cost, in bits, beside their values and conditions."""

BRANCH = 3.0
"""The choice among the kinds of steps."""
LOOP = 4.0
REPETITION = 1.0
"""A loop without a list, beside `LOOP`."""
UNTESTED = 4.0
"""A repetition whose first round is always made."""
WHERE = 2.0
"""That elements are skipped."""
STOP = 3.0
"""That a loop ends early."""
UNREAD = 16.0
"""A loop over elements that nothing in it reads."""
ALWAYS = 2.0
"""A condition that always holds."""
UNDECIDED = 60.0
"""A decision that no condition gives, beside a bit for each visit."""
LEFT_OUT = 12.0
"""That the calls of a tool are not needed."""
LEFT_OUT_CALL = 6.0
"""Each of these calls."""
