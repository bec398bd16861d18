"""What the suite runs on: which GPU a process takes, the allocator, processor, libraries and revision."""
