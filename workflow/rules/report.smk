# From all that was built of a preset to one page.
from fedpriv.config.jobs import report_files


rule report:
    input:
        report_files(plan),
        digest_file("report"),
    output:
        f"results/{plan.preset.preset}/report.html",
    log:
        f"logs/{plan.preset.preset}/report.log",
    params:
        told=plan_digest(plan, "report"),
    message:
        "» the report"
    shell:
        step("report")
