"""Statements that Spark does not have, turned into SQL of Spark or into commands.

May import: `catalog`. The order in here, top first: the modules of this folder, `statements` and
`hints`, `lexer`.
Start with `statement_requests.py`, what the bridge asks; `statement_parser.py`.
"""
