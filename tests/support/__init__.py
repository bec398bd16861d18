"""What several test modules share: runs on noise, photographs, a paper of one run, oracles."""
