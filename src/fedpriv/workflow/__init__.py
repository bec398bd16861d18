"""What the workflow does, step by step, and the same from stored runs alone."""
