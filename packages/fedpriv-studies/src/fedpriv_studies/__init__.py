"""Studies beside fedpriv: published budgets as guarantees, handcrafted features, correlated noise."""
