# From public sources to arrays: one rule for every raw file, one for all arrays.
from fedpriv.data import image_datasets, photograph_datasets


rule fetch:
    output:
        "resources/{dataset}/raw/{file}",
    log:
        "logs/fetch/{dataset}/{file}.log",
    wildcard_constraints:
        dataset="|".join(image_datasets()),
        file=r"[^/]+",
    localrule: True
    message:
        "» fetching {wildcards.file} of {wildcards.dataset}"
    shell:
        step("fetch", "{wildcards.dataset} {wildcards.file}")


rule find:
    output:
        # The images stay where they are, in a mirror or as Kaggle's own program has downloaded them.
        "resources/{dataset}/folder.txt",
    log:
        "logs/photographs/{dataset}_folder.log",
    wildcard_constraints:
        dataset="|".join(photograph_datasets()),
    localrule: True
    message:
        "» finding the photographs of {wildcards.dataset}"
    shell:
        step("find", "{wildcards.dataset}")


rule look:
    input:
        "resources/{dataset}/folder.txt",
    output:
        # The list of the images, and of what is wrong with them.
        "resources/{dataset}/images.json",
    log:
        "logs/photographs/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(photograph_datasets()),
    priority: 1000  # as arrays
    threads: 8
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    message:
        "» looking at the photographs of {wildcards.dataset}"
    shell:
        step("look", "{wildcards.dataset} {threads}")


rule arrays:
    input:
        lambda wildcards: rows.arrays[wildcards.arrays].sources,
    output:
        # Of features, what an interrupted extraction goes on from lies beside it and is no output: those are
        # deleted. Data of one's own are named after their content, so that another content is another file.
        "resources/{arrays}.npz",
    log:
        "logs/arrays/{arrays}.log",
    benchmark:
        "logs/arrays/{arrays}.tsv"
    wildcard_constraints:
        arrays="|".join(rows.arrays),
    priority: 1000  # many wait for it
    group:
        lambda wildcards: rows.arrays[wildcards.arrays].group
    threads: lambda wildcards: rows.arrays[wildcards.arrays].threads
    resources:
        gpu=lambda wildcards: rows.arrays[wildcards.arrays].gpu,
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: attempt
        * rows.arrays[wildcards.arrays].minutes,
    params:
        version=lambda wildcards: rows.arrays[wildcards.arrays].version,
    message:
        "» arrays: {wildcards.arrays}"
    shell:
        step("prepare", "{wildcards.arrays} --set speed.threads={threads}")
