"""Opacus's ghost clipping in a plain loop."""

from functools import partial

from contenders import opacus

race, update = (partial(one, local_update=opacus.by_ghosts) for one in (opacus.race, opacus.update))
