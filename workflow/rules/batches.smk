# Where `speed.runs_per_job` says so, these make the files of partition, train and account, many at once.
# What is in a job is its row: no output of a rule can be a function of its wildcards, so each row is a rule.
from fedpriv.config.sizes import keep_times


# Packed by the index as it was when the first of them began.
onstart:
    if rows.packed_by:
        keep_times(rows.packed_by)


for row in rows.dealings:

    rule:
        name:
            row.name
        input:
            row.arrays,
        output:
            row.partitions,
        log:
            f"logs/{rows.preset}/partitions/{row.name}.log",
        priority: 1000
        group:
            "data"  # as a profile says of `partition`: it knows nothing of these names
        params:
            words=row.words,  # by its params: the command itself is made when the loop has ended
            version=RESULTS_VERSION,
        message:
            "» dealing examples to clients"
        shell:
            step("partition", "{params.words}")


for row in rows.together:

    rule:
        name:
            f"train_{row.name}"
        input:
            row.inputs,
        output:
            row.trained,
        log:
            row.log,
        benchmark:
            f"logs/{rows.preset}/{row.paper}/train/{row.name}.tsv"
        priority: row.priority
        threads: row.threads
        resources:
            gpu=row.gpu,
            mem_mb=lambda wildcards, input, attempt, row=row: row.asked_mb(
                attempt, input.size_mb
            ),
            runtime=lambda wildcards, attempt, row=row: row.asked_minutes(attempt),
        params:
            runs=row.training_marks,
            version=RESULTS_VERSION,
            words=row.words,
        shell:
            step("train", "{params.words} --set speed.threads={threads}")

    rule:
        name:
            f"account_{row.name}"
        input:
            row.measured,
        output:
            row.ledgers,
        log:
            f"logs/{rows.preset}/{row.paper}/account/{row.name}.log",
        priority: 1
        group:
            "account"
        params:
            marks=row.ledger_marks,
            words=row.words,
        shell:
            step("account", "{params.words}")
