"""The functions of all operations by name, and what they may ask."""

OPERATIONS = {}


class EvaluationError(ValueError):
    """An operand's value is not allowed, as an id outside its table."""


def op(name):
    def register(function):
        OPERATIONS["remat." + name] = function
        return function

    return register


class Call:
    """What an operation's function asks beside its operand values."""

    def __init__(self, operation):
        self.operation = operation
        self.attributes = operation.attributes

    def __getitem__(self, name):
        return self.attributes[name]

    def get(self, name, default=None):
        return self.attributes.get(name, default)

    @property
    def result_type(self):
        return self.operation.result_types[0]

    def segments(self, operands):
        """Operands by their ODS names' order: None, a value or, if several, a list."""
        sizes = self.attributes["operandSegmentSizes"]
        groups, position = [], 0
        for size in sizes:
            groups.append(list(operands[position : position + size]))
            position += size
        return groups


def optional(group):
    return group[0] if group else None
