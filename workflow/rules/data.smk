# From public sources to arrays: one rule for every file, one for every dataset, one for all features.
from pathlib import Path

from fedpriv.config.run import RESULTS_VERSION
from fedpriv.data import of_images, of_photographs, prepared
from fedpriv.data.features import FEATURES_VERSION

features, own_data = plan.features(), plan.own_data()


rule fetch:
    output:
        "resources/{dataset}/raw/{file}",
    log:
        "logs/fetch/{dataset}/{file}.log",
    wildcard_constraints:
        dataset="|".join(of_images()),
        file=r"[^/]+",
    localrule: True
    message:
        "» fetching {wildcards.file} of {wildcards.dataset}"
    script:
        "../scripts/fetch.py"


rule decode:
    input:
        lambda wildcards: [
            f"resources/{wildcards.dataset}/raw/{file.name}"
            for file in of_images()[wildcards.dataset].files
        ],
    output:
        "resources/{dataset}.npz",
    log:
        "logs/decode/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(of_images()),
    params:
        version=RESULTS_VERSION,  # raised where what is decoded is other arrays
    message:
        "» decoding {wildcards.dataset}"
    script:
        "../scripts/decode.py"


rule own:
    output:
        # Named after the content, so that another content is another file.
        "resources/{arrays}.npz",
    log:
        "logs/own/{arrays}.log",
    wildcard_constraints:
        arrays="|".join(own_data) or "none",
    params:
        version=RESULTS_VERSION,
    message:
        "» reading {wildcards.arrays}"
    script:
        "../scripts/own.py"


rule photographs:
    output:
        # The images stay where they are: this is the list of them, and of what is wrong with them.
        "resources/{dataset}/images.json",
    log:
        "logs/photographs/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(of_photographs()),
    priority: 1000  # as features
    localrule: True
    message:
        "» looking at the photographs of {wildcards.dataset}"
    script:
        "../scripts/photographs.py"


rule features:
    input:
        lambda wildcards: prepared(features[wildcards.arrays].data, Path("resources")),
    output:
        # What an interrupted extraction goes on from lies beside it and is no output: those are deleted.
        "resources/{arrays}.npz",
    log:
        "logs/features/{arrays}.log",
    benchmark:
        "logs/features/{arrays}.tsv"
    wildcard_constraints:
        arrays="|".join(features) or "none",
    priority: 1000  # many wait for it
    threads: plan.preset.speed.threads or 2
    resources:
        gpu=int(plan.preset.speed.device == "cuda"),
    params:
        version=FEATURES_VERSION,
    message:
        "» features: {wildcards.arrays}"
    script:
        "../scripts/features.py"
