"""How memory is asked for while training: what a step needs stays in the process, the rest is in huge pages.

glibc's malloc maps every buffer above 128 KiB anew and unmaps it when freed; for the activations of a
convolution that costs up to 40 % of a training step. The thresholds can be set from inside the process.
"""

import ctypes
import os
import platform

# <malloc.h>. 64 MiB cover every activation of a chunk. Stacked updates of large networks are larger, and of
# another size in every round: kept, each would leave a hole that the next does not fit into, and the process
# would grow to many times its size.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
MIB = 1 << 20
KEPT, PADDED, UNTRIMMED = 64 * MIB, 64 * MIB, 1024 * MIB


def keep_buffers() -> bool:
    """Tell malloc to keep buffers of up to 64 MiB; return whether it could be done (glibc only).

    Larger ones are mapped anew, on Linux in pages of 2 MiB where it has them: clearing a gigabyte in pages of
    4 KiB takes half a second. torch asks for them if told to before its first tensor; later nothing changes.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = {M_MMAP_THRESHOLD: KEPT, M_TRIM_THRESHOLD: UNTRIMMED, M_TOP_PAD: PADDED}
    return all(mallopt(key, value) for key, value in settings.items())
