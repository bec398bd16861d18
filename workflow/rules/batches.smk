# Where `speed.runs_per_job` says so, these make the files of partition, train and account, many at once.
from functools import partial

from fedpriv.config.jobs import files, partition_jobs, step_words, training_jobs
from fedpriv.workflow.rules import overridden_as

# Packed by the index as it was when the first of them began: it may grow meanwhile, and what is packed otherwise
# would be done again. Jobs that are apart do not see it.
packed_by = Path(f"results/{plan.preset.preset}/plan/index.csv")
lengths = jobs.read_times(jobs.INDEX if apart or not packed_by.exists() else packed_by)
together = training_jobs(plan, jobs.Sizes(plan, lengths), taken)


onstart:
    if together and not apart:
        jobs.keep_times(packed_by)


for number, (told, dealt) in enumerate(partition_jobs(plan, together).items()):

    rule:
        name:
            overridden_as(workflow, "partition", f"partition_{number}")
        input:
            f"resources/{arrays_id(partitions[told.split()[1]])}.npz",
        output:
            dealt,
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


for job in together:
    train_log = f"logs/{plan.preset.preset}/{job.runs[0].paper}/train/{job.name}.log"

    rule:
        name:
            overridden_as(workflow, "train", f"train_{job.name}")
        input:
            inputs(plan, job.runs),
        output:
            files(plan, job.runs, *TRAINED),
        log:
            train_log,
        benchmark:
            f"logs/{plan.preset.preset}/{job.runs[0].paper}/train/{job.name}.tsv"
        priority: job.priority  # the longest first: what is short fills the gaps
        threads: plan.preset.speed.threads or 2
        resources:
            gpu=size.gpu(job.runs),
            mem_mb=partial(
                lambda wildcards, input, attempt, runs, log: size.mem_mb(
                    runs, input.size_mb, attempt, log
                ),
                runs=job.runs,
                log=train_log,
            ),
            runtime=partial(
                lambda wildcards, attempt, runs, log: size.runtime(runs, attempt, log),
                runs=job.runs,
                log=train_log,
            ),
        params:
            runs=identity_marks(plan, job.runs),
            version=RESULTS_VERSION,
            words=step_words(job.runs),
        shell:
            step(
                "train",
                "{params.words} --set speed.threads={threads}",
            )

    rule:
        name:
            overridden_as(workflow, "account", f"account_{job.name}")
        input:
            files(plan, job.runs, "trace.parquet", "distances.npz"),
        output:
            files(plan, job.runs, "ledger.parquet"),
        log:
            f"logs/{plan.preset.preset}/{job.runs[0].paper}/account/{job.name}.log",
        priority: 1
        group:
            "account"
        params:
            told=ledger_marks(plan, job.runs),
            words=step_words(job.runs),
        shell:
            step("account", "{params.words}")
