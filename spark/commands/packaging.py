"""`goqueue spark package`: our code for a Spark that runs elsewhere."""

from pathlib import Path

import click

from goqueue.spark.commands.packing import ARCHIVE, SCRIPT, write_archive, write_script
from goqueue.spark.commands.plainly import plainly


@click.command()
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def package(folder: Path) -> None:
    """Write what spark-submit needs into FOLDER: goqueue.zip and goqueue_job.py.

    \b
    Then, for example:
      spark-submit --master yarn --py-files goqueue.zip goqueue_job.py report hdfs:///captures --to report.html
    """  # noqa: D301 - click leaves alone what follows the character itself
    with plainly():
        folder.mkdir(parents=True, exist_ok=True)
        count = write_archive(folder / ARCHIVE)
        write_script(folder / SCRIPT)
    click.echo(f"{folder / ARCHIVE}: {count} files; {folder / SCRIPT}: what spark-submit starts")
