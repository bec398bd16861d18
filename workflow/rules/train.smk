# From arrays to run directories, and from their traces to ε.
from fedpriv.frozen import RESULTS_VERSION
from fedpriv.config import jobs
from fedpriv.config.plan import arrays_id
from fedpriv.config.jobs import (
    TRAINED,
    files,
    identity_marks,
    inputs,
    ledger_marks,
    run_of_wildcards,
)

partitions = plan.partitions()
size = jobs.Sizes(plan, jobs.read_times(jobs.INDEX))
RUN = "results/{preset}/{paper}/runs/{run}/seed{seed}"
LOG = "logs/{preset}/{paper}/train/{run}/seed{seed}.log"


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
    priority: 1000  # many wait for it
    params:
        version=RESULTS_VERSION,
    message:
        "» dealing examples to clients: {wildcards.partition}, seed {wildcards.seed}"
    shell:
        step("partition", "{wildcards.seed} {wildcards.partition}")


rule train:
    input:
        lambda wildcards: inputs(plan, run_of_wildcards(plan, wildcards)),
    output:
        # What an interrupted training resumes from lies beside these and is no output: those are deleted. Nor
        # are the weights, which nothing is made from.
        [f"{RUN}/{name}" for name in TRAINED],
    log:
        LOG,
    benchmark:
        "logs/{preset}/{paper}/train/{run}/seed{seed}.tsv"
    priority: lambda wildcards: size.priority(run_of_wildcards(plan, wildcards))
    threads: plan.preset.speed.threads or 2
    resources:
        gpu=lambda wildcards: size.gpu(run_of_wildcards(plan, wildcards)),
        mem_mb=lambda wildcards, input, attempt: size.mem_mb(
            run_of_wildcards(plan, wildcards),
            input.size_mb,
            attempt,
            LOG.format(**wildcards),
        ),
        runtime=lambda wildcards, attempt: size.runtime(
            run_of_wildcards(plan, wildcards), attempt, LOG.format(**wildcards)
        ),
    params:
        # All that changes the result, and nothing that only changes the speed.
        runs=lambda wildcards: identity_marks(plan, run_of_wildcards(plan, wildcards)),
        version=RESULTS_VERSION,
    shell:
        step(
            "train",
            "{wildcards.paper} {wildcards.run}/{wildcards.seed} --set speed.threads={threads}",
        )


rule account:
    input:
        lambda wildcards: files(
            plan,
            run_of_wildcards(plan, wildcards),
            "trace.parquet",
            "distances.npz",
        ),
    output:
        f"{RUN}/ledger.parquet",
    log:
        "logs/{preset}/{paper}/account/{run}/seed{seed}.log",
    params:
        told=lambda wildcards: ledger_marks(plan, run_of_wildcards(plan, wildcards)),
    shell:
        step("account", "{wildcards.paper} {wildcards.run}/{wildcards.seed}")
