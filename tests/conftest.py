from support.fixtures import committed, fedpriv, files, here, no_hurry, no_terminal, tiny  # noqa: F401
