# From all runs of a paper to its tables, figures and claims.
from fedpriv.config.files import RESULTS


rule settings:
    output:
        # What the settings of a step after training are: others are another file, which is newer than what was
        # made by the old ones.
        touch("results/{folder}/plan/{step}-{digest}.txt"),
    log:
        "logs/{folder}/plan/{step}-{digest}.log",
    wildcard_constraints:
        folder="[a-z0-9_]+(/[a-z0-9_]+)?",
        step="[a-z]+",
        digest="[0-9a-f]+",
    localrule: True
    shell:
        "rm -f results/{wildcards.folder}/plan/{wildcards.step}-*.txt 2> {log}"


rule audit:
    input:
        lambda wildcards: rows.papers["audit", wildcards.paper].inputs,
    output:
        "results/{preset}/{paper}/findings.parquet",
    log:
        "logs/{preset}/{paper}/audit.log",
    params:
        settings=lambda wildcards: rows.papers["audit", wildcards.paper].settings,
    message:
        "» attacking the runs of {wildcards.paper}"
    shell:
        step("audit", "{wildcards.paper}")


rule collect:
    input:
        lambda wildcards: rows.papers["collect", wildcards.paper].inputs,
    output:
        expand("results/{{preset}}/{{paper}}/{table}.parquet", table=RESULTS),
    log:
        "logs/{preset}/{paper}/collect.log",
    params:
        settings=lambda wildcards: rows.papers["collect", wildcards.paper].settings,
    message:
        "» collecting the runs of {wildcards.paper}"
    shell:
        step("collect", "{wildcards.paper}")


# All of a paper at once: most of one table's time is starting to make it.
for row in rows.rendered("tables"):

    rule:
        name:
            f"tables_{row.paper}"
        input:
            row.inputs,
        output:
            row.outputs,
        log:
            f"logs/{rows.preset}/{row.paper}/tables.log",
        group:
            "render"
        resources:
            runtime=30,  # minutes, for a scheduler
        params:
            paper=row.paper,  # the command itself is made when the loop has ended
            settings=row.settings,
        message:
            f"» tables and verdicts of {row.paper}"
        shell:
            step("tables", "{params.paper}")


for row in rows.rendered("figures"):

    rule:
        name:
            f"figures_{row.paper}"
        input:
            row.inputs,
        output:
            row.outputs,
        log:
            f"logs/{rows.preset}/{row.paper}/figures.log",
        group:
            "render"
        resources:
            runtime=30,
        params:
            paper=row.paper,
            settings=row.settings,
        message:
            f"» figures of {row.paper}"
        shell:
            step("figures", "{params.paper}")
