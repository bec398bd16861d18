# From stored runs to ε: nothing of them is trained, fetched or copied. They come with the code, in no storage.
from fedpriv.config.targets import TAKEN, deltas, everything, identified
from fedpriv.keep import index

taken = index.taken(plan, Path("results/reference"), root)

for paper in plan.papers:
    batch = everything(plan, paper).within(taken)
    if batch.runs:

        rule:
            name:
                f"take_{paper}"
            input:
                again(
                    workflow,
                    plan,
                    batch,
                    lambda batch: local([taken[one] for one in batch.files("")]),
                ),
            output:
                batch.files(*TAKEN),
            log:
                f"logs/{plan.preset.preset}/{paper}/take.log",
            priority: 1
            params:
                words=batch.words,
                told=[identified(plan, batch), deltas(plan, batch)],
            shell:
                step("take", "{params.words}")
