# From all that was built of a preset to one page.
from fedpriv.config.targets import contents, rendered


rule report:
    input:
        [file for paper in plan.papers for file in rendered(plan, paper)],
    output:
        "results/{preset}/report.html",
    log:
        "logs/{preset}/report.log",
    params:
        declared=contents(plan),
    script:
        "../scripts/report.py"
