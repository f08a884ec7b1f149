"""SQL text to `LogicalQuery`; the only importer of sqlglot.

sqlglot's Spark tokenizer finds the clauses and their places; its parser reads predicates. The
text that Spark itself will evaluate is always the user's own, cut out by position, never text
generated from a syntax tree: so its meaning is Spark's.
"""

from headrace.sql.analyzer import Analyzer
from headrace.sql.parse import parse

__all__ = ["Analyzer", "parse"]
