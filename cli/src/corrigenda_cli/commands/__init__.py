"""The subcommands of `corrigenda`: one module each, found by its name.

A module `verify_ledger.py` is the subcommand `verify-ledger`; an underscore at the end (`import_.py`) keeps clear of a
word of the language. It has one function, `add_parser(subparsers)`, which adds
a parser of that name and sets the default `run`, a function from the parsed arguments to the exit status. What is slow
to import is imported inside `run`: the help of one command must not wait for the libraries of another.
"""
