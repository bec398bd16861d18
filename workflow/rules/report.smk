# From all that was built of a preset to one page.
from fedpriv.config.targets import contents, rendered


rule report:
    input:
        rendered(plan),
    output:
        "results/{preset}/report.html",
    log:
        "logs/{preset}/report.log",
    params:
        declared=contents(plan),
    message:
        "» the report"
    script:
        "../scripts/report.py"
