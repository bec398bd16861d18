# How often the Bayesian estimate covers the true ε: of no paper, built only when asked for.
from fedpriv.files.made import maker_version


rule coverage:
    input:
        "config/coverage.yaml",
    output:
        csv="results/coverage/coverage.csv",
        markdown="results/coverage/coverage.md",
    log:
        "logs/coverage.log",
    params:
        version=maker_version("account.coverage"),
    message:
        "» measuring how often the Bayesian estimate covers the true ε"
    shell:
        step("coverage", "{input} results/coverage")
