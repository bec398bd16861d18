# From public sources to arrays: one rule for every file, one for every dataset.
from fedpriv.data import DATASETS


rule fetch:
    output:
        "resources/{dataset}/raw/{file}",
    log:
        "logs/fetch/{dataset}/{file}.log",
    wildcard_constraints:
        dataset=r"[a-z0-9_]+",
        file=r"[^/]+",
    localrule: True
    script:
        "../scripts/fetch.py"


rule decode:
    input:
        lambda wildcards: [
            f"resources/{wildcards.dataset}/raw/{file.name}"
            for file in DATASETS[wildcards.dataset].files
        ],
    output:
        "resources/{dataset}.npz",
    log:
        "logs/decode/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(DATASETS),
    script:
        "../scripts/decode.py"
