#!/bin/sh
# What a GPU computes and how fast, in at most eight minutes: the tests of the kernels and of the stacked engine on
# CUDA, then one page of numbers, benchmarks/results/gpu.md. Needs a Python that has torch for CUDA, pytest, hypothesis,
# fedpriv and fedpriv-engines; JAX is raced where it is there. The page is written whether they pass or not; the exit
# status is theirs.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
status=0
FEDPRIV_TEST_DEVICE=cuda OMP_NUM_THREADS=1 "$python" -m pytest --quiet --numprocesses 8 packages/fedpriv-engines tests/local \
    tests/models/test_binary.py tests/models/test_module.py tests/models/test_sequences.py tests/models/test_convnet2.py \
    tests/models/test_layers.py tests/mechanisms/test_private_gradient.py tests/data/test_own.py \
    tests/store/test_gpus.py || status=$?
"$python" benchmarks/on_gpu.py "$@"
exit $status
