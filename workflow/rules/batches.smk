# Where `speed.runs_per_job` says so, these make the files of partition, train and account, many at once.
from functools import partial

from fedpriv.config.batches import batches, dealt_together
from fedpriv.workflow.rules import overridden_as

# Packed by the index as it was when the first of them began: it may grow meanwhile, and what is packed otherwise
# would be done again. Jobs that are apart do not see it.
packed_by = Path(f"results/{plan.preset.preset}/plan/index.csv")
lengths = sizes.read(sizes.INDEX if apart or not packed_by.exists() else packed_by)
together = batches(plan, sizes.Sizes(plan, lengths), taken)


onstart:
    if together and not apart:
        sizes.keep(packed_by)


for number, (told, files) in enumerate(dealt_together(plan, together).items()):

    rule:
        name:
            overridden_as(workflow, "partition", f"partition_{number}")
        input:
            f"resources/{arrays_id(partitions[told.split()[1]])}.npz",
        output:
            files,
        log:
            f"logs/{plan.preset.preset}/partitions/{number}.log",
        priority: 1000
        group:
            "data"  # as a profile says of `partition`: it knows nothing of these names
        params:
            told=told,  # by its params: the command itself is made when the loop has ended
            version=RESULTS_VERSION,
        message:
            "» dealing examples to clients"
        shell:
            step("partition", "{params.told}")


for batch in together:

    rule:
        name:
            overridden_as(workflow, "train", f"train_{batch.name}")
        input:
            again(workflow, plan, batch, partial(inputs, plan)),
        output:
            batch.files(*TRAINED),
        log:
            f"logs/{batch.preset}/{batch.paper}/train/{batch.name}.log",
        benchmark:
            f"logs/{batch.preset}/{batch.paper}/train/{batch.name}.tsv"
        priority: batch.priority  # the longest first: what is short fills the gaps
        threads: plan.preset.speed.threads or 2
        resources:
            gpu=size.gpu(batch),
            mem_mb=partial(
                lambda wildcards, input, attempt, batch: size.mem_mb(
                    batch, attempt, input.size_mb
                ),
                batch=batch,
            ),
            runtime=partial(
                lambda wildcards, attempt, batch: size.runtime(batch, attempt),
                batch=batch,
            ),
        params:
            runs=identified(plan, batch),
            version=RESULTS_VERSION,
            words=batch.words,
        shell:
            step(
                "train",
                "{params.words} --set speed.threads={threads}",
            )

    rule:
        name:
            overridden_as(workflow, "account", f"account_{batch.name}")
        input:
            again(
                workflow,
                plan,
                batch,
                lambda batch: batch.files("trace.parquet", "distances.npz"),
            ),
        output:
            batch.files("ledger.parquet"),
        log:
            f"logs/{batch.preset}/{batch.paper}/account/{batch.name}.log",
        priority: 1
        group:
            "account"
        params:
            deltas=deltas(plan, batch),
            words=batch.words,
        shell:
            step("account", "{params.words}")
