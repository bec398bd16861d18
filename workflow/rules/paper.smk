# From all runs of a paper to its tables, figures and claims.
from fedpriv.config.targets import declared, drawn, figures, run_files, tables


rule collect:
    input:
        lambda wildcards: run_files(plan, wildcards.paper),
    output:
        "results/{preset}/{paper}/runs.parquet",
    log:
        "logs/{preset}/{paper}/collect.log",
    message:
        "» collecting the runs of {wildcards.paper}"
    script:
        "../scripts/collect.py"


# All at once: most of one table's time is starting to make it.
for paper in plan.papers:

    rule:
        name:
            f"tables_{paper}"
        input:
            f"results/{plan.preset.preset}/{paper}/runs.parquet",
        output:
            tables(plan, paper),
        log:
            f"logs/{plan.preset.preset}/{paper}/tables.log",
        group:
            "render"
        resources:
            runtime=30,  # minutes, for a scheduler
        params:
            declared=declared(plan, paper),
        message:
            f"» tables and verdicts of {paper}"
        script:
            "../scripts/tables.py"

    rule:
        name:
            f"figures_{paper}"
        input:
            f"results/{plan.preset.preset}/{paper}/runs.parquet",
        output:
            figures(plan, paper),
        log:
            f"logs/{plan.preset.preset}/{paper}/figures.log",
        group:
            "render"
        resources:
            runtime=30,
        params:
            declared={"figures": drawn(plan, paper)},
        message:
            f"» figures of {paper}"
        script:
            "../scripts/figures.py"
