"""The command line: `gossamer crawl`, `status`, `export` and the others.

In: arguments. Out: text for people, JSON for programs, an exit code (docs/reference/exit-codes.md).
Never: logic of its own beyond showing, nor a byte of the web on a terminal that could steer it.

Each command is one file with `register` (its flags, cheap) and `run` (its work, which imports what
it needs, so that `gossamer --help` stays quick).
"""
