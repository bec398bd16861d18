from support.fixtures import committed, files, no_hurry, no_terminal, tiny  # noqa: F401
