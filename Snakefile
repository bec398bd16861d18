# From raw data to printed tables; `snakemake --configfile config/laptop.yaml` builds all of a preset.
import sys
from pathlib import Path

from snakemake.utils import min_version

from fedpriv.config.plan import make_plan
from fedpriv.workflow.rules import command, read_plan, share_settings

min_version("9.19")

# A given --configfile replaces this one: laid over it, it would inherit the demo's substitutes.
if "preset" not in config:

    configfile: "config/demo.yaml"


container: "fedpriv.sif"  # only with `--sdm apptainer`; docs/cluster.md says how it is made


wildcard_constraints:
    preset="[a-z0-9_]+",
    paper="[a-z0-9_]+",
    run="[a-z0-9_]+",
    seed="[0-9]+",


# With a storage plugin where its local copies are: jobs share what they declare then, and the code.
root = Path(workflow.inputfile("results")).parent
step = command(config, workflow.configfiles, root)
plan = make_plan(config, Path("config/papers"), files=workflow.configfiles)
rows = read_plan(plan, root)  # `fedpriv plan` prints those of the runs
share_settings(workflow.resource_settings, rows.names)

# The program beside this Python; in a container it is the container's.
if not workflow.deployment_settings.deployment_method:
    shell.prefix(f'PATH="{Path(sys.executable).parent}:$PATH"; ')


rule all:
    input:
        rows.targets,


include: "workflow/rules/data.smk"
include: "workflow/rules/stored.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/batches.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/report.smk"
