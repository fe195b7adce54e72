"""The command line: one file, or one folder, for each group of commands.

A command reads its arguments, calls the packages below it and prints; it decides nothing that another front end would
have to decide again. `main.py` holds the table of commands and imports a command only when it is called, so that
`goqueue --help` stays quick however many there are. Start there.
"""
