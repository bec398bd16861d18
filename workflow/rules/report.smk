# From all that was built of a preset to one page.


rule report:
    input:
        rows.papers["report", ""].inputs,
    output:
        f"results/{rows.preset}/report.html",
    log:
        f"logs/{rows.preset}/report.log",
    params:
        settings=rows.papers["report", ""].settings,
    message:
        "» the report"
    shell:
        step("report")
