"""Pytrees of arguments and results, walked alike for every contestant."""


def mapped(function, tree):
    """A pytree with `function` of each leaf; the names of a dict are visited in order."""
    if isinstance(tree, dict):
        return {name: mapped(function, tree[name]) for name in sorted(tree)}
    if isinstance(tree, (list, tuple)):
        return type(tree)(mapped(function, x) for x in tree)
    return function(tree)


def leaves(tree):
    """The leaves of a pytree, in the order of `mapped`."""
    found = []
    mapped(found.append, tree)
    return found
