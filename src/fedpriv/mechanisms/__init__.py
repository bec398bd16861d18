"""What privacy is made of: sampling, clipping, noise, private gradients, and the distances measured."""
