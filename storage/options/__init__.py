"""Every option, declared once: key, type, default, where it may be given, what raising it costs.

May import: `kernel`.
Start with `options.py` for what a declaration is, `table_options.py` for the declarations.
"""
