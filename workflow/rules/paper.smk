# From all runs of a paper to its tables, figures and claims.
from fedpriv.config.targets import run_files

papers = plan.papers


rule collect:
    input:
        lambda wildcards: run_files(plan, wildcards.paper),
    output:
        "results/{preset}/{paper}/runs.parquet",
    log:
        "logs/{preset}/{paper}/collect.log",
    script:
        "../scripts/collect.py"


rule table:
    input:
        "results/{preset}/{paper}/runs.parquet",
    output:
        csv="results/{preset}/{paper}/tables/{table}.csv",
        markdown="results/{preset}/{paper}/tables/{table}.md",
        latex="results/{preset}/{paper}/tables/{table}.tex",
        html="results/{preset}/{paper}/tables/{table}.html",
    log:
        "logs/{preset}/{paper}/tables/{table}.log",
    wildcard_constraints:
        table=r"[a-z0-9_]+",
    params:
        declared=lambda wildcards: papers[wildcards.paper]
        .tables[wildcards.table]
        .model_dump(),
    script:
        "../scripts/table.py"


rule figure:
    input:
        "results/{preset}/{paper}/runs.parquet",
    output:
        pdf="results/{preset}/{paper}/figures/{figure}.pdf",
        png="results/{preset}/{paper}/figures/{figure}.png",
        markdown="results/{preset}/{paper}/figures/{figure}.md",
    log:
        "logs/{preset}/{paper}/figures/{figure}.log",
    wildcard_constraints:
        figure=r"[a-z0-9_]+",
    params:
        declared=lambda wildcards: papers[wildcards.paper]
        .figures[wildcards.figure]
        .model_dump(),
    script:
        "../scripts/figure.py"


rule claims:
    input:
        "results/{preset}/{paper}/runs.parquet",
    output:
        csv="results/{preset}/{paper}/claims.csv",
        markdown="results/{preset}/{paper}/claims.md",
        latex="results/{preset}/{paper}/claims.tex",
    log:
        "logs/{preset}/{paper}/claims.log",
    params:
        declared=lambda wildcards: papers[wildcards.paper].model_dump(
            include={"tables", "claims"}
        ),
    script:
        "../scripts/claims.py"
