# From all runs of a paper to its tables, figures and claims.
from functools import partial

from fedpriv.config.jobs import (
    AUDITED,
    COLLECTED,
    RESULTS,
    audited_runs,
    collected_files,
    figure_names,
    figures,
    findings,
    judged_claims,
    run_files,
    tables,
)

# The file that says what a step is told; where jobs are apart, only its params say it.
digest_file = partial(plan_files, plan, apart)


rule audit:
    input:
        lambda wildcards: run_files(
            plan, audited_runs(plan, wildcards.paper), taken, *AUDITED
        ),
        lambda wildcards: digest_file("audit", wildcards.paper),
    output:
        "results/{preset}/{paper}/findings.parquet",
    log:
        "logs/{preset}/{paper}/audit.log",
    params:
        told=lambda wildcards: plan_digest(plan, "audit", wildcards.paper),
    message:
        "» attacking the runs of {wildcards.paper}"
    shell:
        step("audit", "{wildcards.paper}")


rule collect:
    input:
        # The seals of distances are looked at. Only where jobs are apart that has to be said.
        lambda wildcards: run_files(
            plan, plan.keys(wildcards.paper), taken, *(AUDITED if apart else COLLECTED)
        ),
        lambda wildcards: digest_file("collect", wildcards.paper),
    output:
        expand("results/{{preset}}/{{paper}}/{table}.parquet", table=RESULTS),
    log:
        "logs/{preset}/{paper}/collect.log",
    params:
        told=lambda wildcards: plan_digest(plan, "collect", wildcards.paper),
    message:
        "» collecting the runs of {wildcards.paper}"
    shell:
        step("collect", "{wildcards.paper}")


# All at once: most of one table's time is starting to make it.
for paper, declared in plan.papers.items():
    shown = [*declared.tables.values(), *judged_claims(plan, paper)]

    rule:
        name:
            f"tables_{paper}"
        input:
            collected_files(plan, paper),
            findings(plan, paper, shown),
            digest_file("tables", paper),
        output:
            tables(plan, paper),
        log:
            f"logs/{plan.preset.preset}/{paper}/tables.log",
        group:
            "render"
        resources:
            runtime=30,  # minutes, for a scheduler
        params:
            paper=paper,  # the command itself is made when the loop has ended
            told=plan_digest(plan, "tables", paper),
        message:
            f"» tables and verdicts of {paper}"
        shell:
            step("tables", "{params.paper}")

    rule:
        name:
            f"figures_{paper}"
        input:
            collected_files(plan, paper),
            findings(plan, paper, figure_names(plan, paper).values()),
            digest_file("figures", paper),
        output:
            figures(plan, paper),
        log:
            f"logs/{plan.preset.preset}/{paper}/figures.log",
        group:
            "render"
        resources:
            runtime=30,
        params:
            paper=paper,
            told=plan_digest(plan, "figures", paper),
        message:
            f"» figures of {paper}"
        shell:
            step("figures", "{params.paper}")
