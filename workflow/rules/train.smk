# From arrays to a run directory, and from its trace to ε.
from fedpriv.config.run import RESULTS_VERSION
from fedpriv.config.names import arrays_id, partition_id

runs = plan.runs
partitions = plan.partitions()


resource_scopes:
    gpu="local",  # on a cluster a limit is one for each submission, not for all of them together


rule partition:
    input:
        lambda wildcards: f"resources/{arrays_id(partitions[wildcards.partition])}.npz",
    output:
        "results/{preset}/partitions/{partition}/seed{seed}.npz",
    log:
        "logs/{preset}/partitions/{partition}/seed{seed}.log",
    wildcard_constraints:
        # The id says all that a partition depends on: another law is another file.
        partition="|".join(partitions),
    script:
        "../scripts/partition.py"


rule train:
    input:
        arrays=lambda wildcards: f"resources/{arrays_id(runs[wildcards.paper][wildcards.run])}.npz",
        partition=lambda wildcards: (
            f"results/{wildcards.preset}/partitions/"
            f"{partition_id(runs[wildcards.paper][wildcards.run])}/seed{wildcards.seed}.npz"
        ),
    output:
        # What an interrupted training resumes from lies beside these and is no output: those are deleted.
        trace="results/{preset}/{paper}/runs/{run}/seed{seed}/trace.parquet",
        distances="results/{preset}/{paper}/runs/{run}/seed{seed}/distances.npz",
        model="results/{preset}/{paper}/runs/{run}/seed{seed}/model.safetensors",
        summary="results/{preset}/{paper}/runs/{run}/seed{seed}/summary.json",
    log:
        "logs/{preset}/{paper}/train/{run}/seed{seed}.log",
    benchmark:
        "logs/{preset}/{paper}/train/{run}/seed{seed}.tsv"
    threads: plan.preset.speed.threads or 2
    resources:
        gpu=int(plan.preset.speed.device == "cuda"),
    params:
        # All that changes the result, and nothing that only changes the speed.
        run=lambda wildcards: runs[wildcards.paper][wildcards.run].training(),
        labels=lambda wildcards: plan.labels(wildcards.paper, wildcards.run),
        version=RESULTS_VERSION,
    script:
        "../scripts/train.py"


rule account:
    input:
        trace="results/{preset}/{paper}/runs/{run}/seed{seed}/trace.parquet",
        distances="results/{preset}/{paper}/runs/{run}/seed{seed}/distances.npz",
    output:
        "results/{preset}/{paper}/runs/{run}/seed{seed}/ledger.parquet",
    log:
        "logs/{preset}/{paper}/account/{run}/seed{seed}.log",
    params:
        deltas=lambda wildcards: dict(runs[wildcards.paper][wildcards.run].account),
    script:
        "../scripts/account.py"


rule coverage:
    input:
        "config/coverage.yaml",
    output:
        csv="results/coverage/coverage.csv",
        markdown="results/coverage/coverage.md",
    log:
        "logs/coverage.log",
    script:
        "../scripts/coverage.py"
