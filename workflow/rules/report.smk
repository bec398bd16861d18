# From all that was built of a preset to one page.
from fedpriv.config.finished import beside, made_now
from fedpriv.config.targets import rendered


rule report:
    input:
        rendered(plan),
    output:
        f"results/{plan.preset.preset}/report.html",
        made=beside(plan, "report"),
    log:
        f"logs/{plan.preset.preset}/report.log",
    params:
        made=made_now(plan, "report"),
    message:
        "» the report"
    shell:
        step("report")
