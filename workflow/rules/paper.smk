# From all runs of a paper to its tables, figures and claims.
from fedpriv.config.finished import beside, made_now
from fedpriv.config.targets import (
    AUDITED,
    COLLECTED,
    RESULTS,
    collected,
    figures,
    run_files,
    tables,
)


rule audit:
    input:
        lambda wildcards: run_files(plan, wildcards.paper, taken, *AUDITED),
    output:
        "results/{preset}/{paper}/findings.parquet",
        made="results/{preset}/{paper}/made/audit.txt",
    log:
        "logs/{preset}/{paper}/audit.log",
    params:
        made=lambda wildcards: made_now(plan, "audit", wildcards.paper),
    message:
        "» attacking the runs of {wildcards.paper}"
    shell:
        step("audit", "{wildcards.paper}")


rule collect:
    input:
        # The seals of distances are looked at. Only where jobs are apart that has to be said.
        lambda wildcards: run_files(
            plan, wildcards.paper, taken, *(AUDITED if apart else COLLECTED)
        ),
    output:
        expand("results/{{preset}}/{{paper}}/{table}.parquet", table=RESULTS),
        made="results/{preset}/{paper}/made/collect.txt",
    log:
        "logs/{preset}/{paper}/collect.log",
    params:
        made=lambda wildcards: made_now(plan, "collect", wildcards.paper),
    message:
        "» collecting the runs of {wildcards.paper}"
    shell:
        step("collect", "{wildcards.paper}")


# All at once: most of one table's time is starting to make it.
for paper in plan.papers:

    rule:
        name:
            f"tables_{paper}"
        input:
            collected(plan, paper),
            f"results/{plan.preset.preset}/{paper}/findings.parquet",
        output:
            tables(plan, paper),
            made=beside(plan, "tables", paper),
        log:
            f"logs/{plan.preset.preset}/{paper}/tables.log",
        group:
            "render"
        resources:
            runtime=30,  # minutes, for a scheduler
        params:
            paper=paper,  # the command itself is made when the loop has ended
            made=made_now(plan, "tables", paper),
        message:
            f"» tables and verdicts of {paper}"
        shell:
            step("tables", "{params.paper}")

    rule:
        name:
            f"figures_{paper}"
        input:
            collected(plan, paper),
            f"results/{plan.preset.preset}/{paper}/findings.parquet",
        output:
            figures(plan, paper),
            made=beside(plan, "figures", paper),
        log:
            f"logs/{plan.preset.preset}/{paper}/figures.log",
        group:
            "render"
        resources:
            runtime=30,
        params:
            paper=paper,
            made=made_now(plan, "figures", paper),
        message:
            f"» figures of {paper}"
        shell:
            step("figures", "{params.paper}")
