"""SQL text to `LogicalQuery`, by what Spark's own parser and analyzer say of it.

Spark reads the text; what it found comes here as plain data, is judged by a list of the kinds of
expressions that may run, and becomes a description that the engine can share. Text is read here
only to say where something stands.
"""

from headrace.sql.analyzer import Analyzer
from headrace.sql.parse import parse
from headrace.sql.templates import Templates

__all__ = ["Analyzer", "Templates", "parse"]
