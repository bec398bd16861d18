from hypothesis import settings
from support.fixtures import committed, fedpriv, files, here, no_hurry, no_terminal, tiny  # noqa: F401

settings.register_profile("busy", deadline=None)  # no test fails because a machine is busy
settings.load_profile("busy")
