"""What a paper declares: runs, tables, figures, claims; free of torch and pandas."""
