# From stored runs to ε: nothing of them is trained, fetched or copied.
from fedpriv.config.targets import TAKEN, takings
from fedpriv.files.made import maker_version
from fedpriv.keep import index

taken = index.taken(plan, Path("results/reference"))

for paper in plan.papers:
    if runs := takings(plan, paper, taken):

        rule:
            name:
                f"take_{paper}"
            input:
                [taken[one["out"]] for one in runs],
            output:
                [one["out"] + name for one in runs for name in TAKEN],
            log:
                f"logs/{plan.preset.preset}/{paper}/take.log",
            priority: 1
            params:
                runs=runs,
                version=maker_version("account.runs"),
            script:
                "../scripts/take.py"
