"""`python -m goqueue`: the same as the `goqueue` command."""

from goqueue.cli.main import main

if __name__ == "__main__":
    main()
