from support.fixtures import files, no_hurry, no_terminal, tiny  # noqa: F401
