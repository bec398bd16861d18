# From public sources to arrays: one rule for every raw file, one for all arrays.
from fedpriv.frozen import RESULTS_VERSION
from fedpriv.config.jobs import sources
from fedpriv.data import image_datasets, photograph_datasets
from fedpriv.data.features import FEATURES_VERSION

features, own_data = plan.features(), plan.own_data()
of_photos = [name for name, run in features.items() if run.model.reads == "features"]


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
        lambda wildcards: sources(plan, wildcards.arrays),
    output:
        # Of features, what an interrupted extraction goes on from lies beside it and is no output: those are
        # deleted. Data of one's own are named after their content, so that another content is another file.
        "resources/{arrays}.npz",
    log:
        "logs/arrays/{arrays}.log",
    benchmark:
        "logs/arrays/{arrays}.tsv"
    wildcard_constraints:
        arrays="|".join([*features, *own_data, *image_datasets()]),
    priority: 1000  # many wait for it
    group:
        # Features are hours on a GPU, all else is seconds.
        lambda wildcards: "features" if wildcards.arrays in features else "data"
    threads:
        lambda wildcards: (
            (plan.preset.speed.threads or 2) if wildcards.arrays in features else 1
        )
    resources:
        gpu=lambda wildcards: int(
            wildcards.arrays in of_photos and plan.preset.speed.device != "cpu"
        ),
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: (
            attempt * (120 if wildcards.arrays in of_photos else 30)
        ),
    params:
        # Raised where what is made is other arrays.
        version=lambda wildcards: (
            FEATURES_VERSION if wildcards.arrays in features else RESULTS_VERSION
        ),
    message:
        "» arrays: {wildcards.arrays}"
    shell:
        step("prepare", "{wildcards.arrays} --set speed.threads={threads}")
