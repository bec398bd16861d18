"""What training writes down, one row a round: the columns of trace.parquet. It never contains ε."""

# Column -> dtype of trace.parquet, in order. The last two are measurements: they differ between two runs
# that are otherwise bit-identical.
TRACE = {
    "round": "int64",
    "scheme": "str",
    "unit": "str",
    "relation": "str",
    "sampling_law": "str",
    "population": "int64",
    "expected_cohort": "float64",
    "sampling_rate": "float64",
    "cohort_size": "int64",
    "clip_l2": "float64",
    "share_clipped": "float64",
    "not_finite": "int64",
    "clip_private": "bool",
    "noise_multiplier": "float64",
    "noise_std": "float64",
    "local_steps": "int64",
    "rate_sequential": "float64",
    "rate_parallel": "float64",
    "per_example_clip": "bool",
    "instance_clip_l2": "float64",
    "instance_noise_multiplier": "float64",
    "instance_noise_std": "float64",
    "noise_shares": "int64",
    "norm_min": "float64",
    "norm_median": "float64",
    "norm_max": "float64",
    "server_learning_rate": "float64",
    "train_loss": "float64",
    "test_accuracy": "float64",
    "test_loss": "float64",
    "seconds": "float64",
    "peak_mib": "float64",
}
MEASURED = ("seconds", "peak_mib")
