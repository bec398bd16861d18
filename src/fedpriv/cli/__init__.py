"""The program `fedpriv`: single steps of the workflow, and the calculators."""
