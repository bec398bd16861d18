# From arrays to run directories, and from their traces to ε.
from fedpriv.config.files import TRAINED
from fedpriv.frozen import RESULTS_VERSION

RUN = "results/{preset}/{paper}/runs/{run}/seed{seed}"


rule partition:
    input:
        lambda wildcards: rows.partitions[wildcards.partition],
    output:
        "results/{preset}/partitions/{partition}/seed{seed}.npz",
    log:
        "logs/{preset}/partitions/{partition}/seed{seed}.log",
    wildcard_constraints:
        # The id says all that a partition depends on: another law is another file.
        partition="|".join(rows.partitions),
    priority: 1000  # many wait for it
    params:
        version=RESULTS_VERSION,
    message:
        "» dealing examples to clients: {wildcards.partition}, seed {wildcards.seed}"
    shell:
        step("partition", "{wildcards.seed} {wildcards.partition}")


rule train:
    input:
        lambda wildcards: rows.training(wildcards).inputs,
    output:
        # What an interrupted training resumes from lies beside these and is no output: those are deleted. Nor
        # are the weights, which nothing is made from.
        [f"{RUN}/{name}" for name in TRAINED],
    log:
        "logs/{preset}/{paper}/train/{run}/seed{seed}.log",
    benchmark:
        "logs/{preset}/{paper}/train/{run}/seed{seed}.tsv"
    priority: lambda wildcards: rows.training(wildcards).priority
    threads: lambda wildcards: rows.training(wildcards).threads
    resources:
        gpu=lambda wildcards: rows.training(wildcards).gpu,
        mem_mb=lambda wildcards, input, attempt: rows.training(wildcards).asked_mb(
            attempt, input.size_mb
        ),
        runtime=lambda wildcards, attempt: rows.training(wildcards).asked_minutes(
            attempt
        ),
    params:
        # All that changes the result, and nothing that only changes the speed.
        runs=lambda wildcards: rows.training(wildcards).training_marks,
        version=RESULTS_VERSION,
    shell:
        step(
            "train",
            "{wildcards.paper} {wildcards.run}/{wildcards.seed} --set speed.threads={threads}",
        )


rule account:
    input:
        lambda wildcards: rows.training(wildcards).measured,
    output:
        f"{RUN}/ledger.parquet",
    log:
        "logs/{preset}/{paper}/account/{run}/seed{seed}.log",
    params:
        marks=lambda wildcards: rows.training(wildcards).ledger_marks,
    shell:
        step("account", "{wildcards.paper} {wildcards.run}/{wildcards.seed}")
