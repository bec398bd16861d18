"""Fragments of runs: nested mappings, drawn by hypothesis."""

from hypothesis import strategies as st

leaves = st.integers(0, 3)


def mappings(inner):
    """Return a strategy of mappings, some of which name a kind."""
    kinds = st.fixed_dictionaries({}, optional={"name": leaves, "law": leaves})
    return st.builds(dict.__or__, st.dictionaries(st.sampled_from("abc"), inner, max_size=3), kinds)


trees = st.recursive(leaves, mappings, max_leaves=8)
fragments = mappings(trees)


def agreeing(number):
    """Return a strategy of so many fragments that say the same where they speak of the same key."""
    return fragments.flatmap(lambda tree: st.tuples(*[some_of(tree) for _ in range(number)]))


def some_of(tree):
    """Return a strategy of mappings that say some of what `tree` says."""
    if not isinstance(tree, dict):
        return st.just(tree)
    return st.fixed_dictionaries({}, optional={key: some_of(value) for key, value in tree.items()})
