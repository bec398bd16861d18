# From stored runs to ε: nothing of them is trained, fetched or copied. They come with the code, in no storage.
from fedpriv.config.jobs import (
    TAKEN,
    files,
    ledger_marks,
    step_words,
    stored_for,
)

taken = stored_for(plan, Path("results/reference"), root)

for paper in plan.papers:
    runs = [key for key in plan.keys(paper) if key in taken]
    if runs:

        rule:
            name:
                f"take_{paper}"
            input:
                local([taken[key] for key in runs]),
            output:
                files(plan, runs, *TAKEN),
            log:
                f"logs/{plan.preset.preset}/{paper}/take.log",
            priority: 1
            params:
                words=step_words(runs),
                told=ledger_marks(plan, runs),
            shell:
                step("take", "{params.words}")
