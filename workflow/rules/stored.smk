# From stored runs to ε: nothing of them is trained, fetched or copied. They come with the code, in no storage.
for row in rows.taken:

    rule:
        name:
            f"take_{row.paper}"
        input:
            local(row.inputs),
        output:
            row.outputs,
        log:
            f"logs/{rows.preset}/{row.paper}/take.log",
        priority: 1
        params:
            words=row.words,
            settings=row.settings,
        shell:
            step("take", "{params.words}")
