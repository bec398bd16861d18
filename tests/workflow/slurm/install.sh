#!/bin/sh
# Install what `make slurm-test` needs, where it is missing and that can be done; else say why, and the tests are skipped.
PATH=$PATH:/usr/sbin
if command -v munged >/dev/null && command -v slurmctld >/dev/null && command -v slurmd >/dev/null &&
    command -v sbatch >/dev/null; then
    exit 0
fi
packages="slurmctld slurmd slurm-client munge"
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Slurm is not here. Root of a Debian machine can have it: apt-get install $packages"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # one package a word
apt-get -qq update && apt-get -qq install --yes --no-install-recommends $packages >/dev/null ||
    echo "apt-get could not install $packages"
