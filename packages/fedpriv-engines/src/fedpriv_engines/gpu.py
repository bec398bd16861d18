"""What fedpriv finds by the entry point `gpu` of the group `fedpriv_engines`: kernels in Triton."""

import triton

from fedpriv_engines.adam import adam
from fedpriv_engines.convolution import convolution

NAME = f"convolutions and Adam in Triton {triton.__version__}"

__all__ = ["NAME", "adam", "convolution"]
