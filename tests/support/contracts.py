"""Contracts of passes, followed through a list of passes, and evaluated on a program."""

from __future__ import annotations

from transpile.ir.contracts import Property, contract_of


def unmet(passes, given=(), wanted=()):
    """What the contracts of passes in this order leave open: a requirement that no earlier pass
    provides, or that one has destroyed since; and what is wanted in the end."""
    holding, complaints = set(given), []
    for function in passes:
        own = contract_of(function)
        complaints += [
            f"{function.__name__} requires: {p}" for p in own.requires if p not in holding
        ]
        holding = (holding - set(own.destroys)) | set(own.provides)
    return complaints + [f"in the end: {p}" for p in wanted if p not in holding]


class Evaluation:
    """The properties of programs, evaluated after each pass.

    complaints  where a contract is not kept: (pass, what of it, property, program)
    lacking     the properties that some program did not have at first, or between passes
    """

    def __init__(self, passes, properties):
        self.passes = passes
        self.properties = properties
        self.providers = {p: f for f in passes for p in contract_of(f).provides}
        self.complaints = []
        self.lacking = set()

    def holding(self, program, context):
        """The properties that a program has."""
        return {p for p in self.properties if self._holds(p, program, context)}

    def _holds(self, kind, program, context):
        if isinstance(kind, Property):
            return kind.holds(program, context)
        return kind.seen(self.providers[kind](program, context)) == kind.seen(program)

    def run(self, name, program, context):
        """The program after all passes."""
        before = self.holding(program, context)
        self.lacking |= self.properties - before
        for function in self.passes:
            own = contract_of(function)
            self._expect(name, function, "requires", own.requires, before)
            result = function(program, context)
            after = before if result is program else self.holding(result, context)
            self._expect(name, function, "provides", own.provides, after)
            self._expect(name, function, "preserves", before - set(own.destroys), after)
            self.lacking |= self.properties - after
            program, before = result, after
        return program

    def _expect(self, name, function, word, wanted, holding):
        missing = [p for p in wanted if p not in holding]
        self.complaints += [f"{function.__name__} {word}: {p} ({name})" for p in missing]
