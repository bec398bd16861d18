"""The one exception that means: the user's input is wrong, not the program."""


class BadInput(ValueError):
    """One line naming the key or file, what was found and what is allowed (exit code 2)."""
