# From all that was built of a preset to one page.
from fedpriv.config.finished import beside, made_now, outdated
from fedpriv.config.targets import contents, rendered

# Made again, whatever Snakemake remembers: what says itself that it was made of something else than the plan.
if workflow.is_main_process and workflow.dag_settings:
    again = outdated(plan, workflow.dag_settings.targets)
    workflow.dag_settings.forcerun = {*workflow.dag_settings.forcerun, *again}


rule report:
    input:
        rendered(plan),
    output:
        f"results/{plan.preset.preset}/report.html",
        made=beside(plan, "report"),
    log:
        f"logs/{plan.preset.preset}/report.log",
    params:
        declared=contents(plan),
        made=made_now(plan, "report"),
    message:
        "» the report"
    script:
        "../scripts/report.py"
