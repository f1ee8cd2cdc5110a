"""What the importer raises. Every message names a line, a parameter or an input."""

from ..importing import ImportFailure, Refused, Unsupported, UnsupportedNodes

__all__ = ["ImportFailure", "Refused", "Unsupported", "UnsupportedNodes"]
