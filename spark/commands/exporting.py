"""`goqueue spark export`: what is new in a topic, as Parquet."""

import click
from attrs import asdict

from goqueue.cli.endings import WRONG, Ending
from goqueue.cli.output import form_option, print_structure
from goqueue.spark.commands.opening import Wanted, opened
from goqueue.spark.commands.progress import shown


@click.command()
@click.argument("topic")
@click.option("--from", "path", default="", metavar="DATA-DIR", help="The data folder of a broker, running or not.")
@click.option("--bootstrap", default="", metavar="HOST:PORT", help="A broker of the cluster, by its gRPC port.")
@click.option("--to", "folder", required=True, metavar="FOLDER", help="Where the Parquet goes: a folder, or hdfs://…")
@click.option("--allow-gaps", is_flag=True, help="Go on where records were removed before they were exported.")
@click.option("--codec", default="zstd", show_default=True, help="How Parquet packs: zstd, snappy, gzip, none.")
@form_option
@click.pass_obj
def export(
    wanted: Wanted, topic: str, path: str, bootstrap: str, folder: str, allow_gaps: bool, codec: str, form: str
) -> None:
    """Export what has come to TOPIC since the last export into the same folder, each record once.

    Files are made by date and hour of the records' timestamps. Run it again whenever there may be more.
    """
    if bool(path) == bool(bootstrap):
        raise Ending("export from where? Name one of --from and --bootstrap", WRONG)
    with opened(wanted) as spark:
        from goqueue.spark.exporting import job

        with shown(spark, f"exporting {topic}") as told:
            origin = job.Origin(topic, path, bootstrap)
            exported = job.export(spark, origin, folder, allow_gaps=allow_gaps, codec=codec, told=told)
    manifest = exported.manifest
    if form != "table":
        print_structure(form, asdict(exported))
    elif manifest is None:
        click.echo(f"{topic}: nothing new")
    else:
        click.echo(f"{topic}: {manifest.count:,} records in {len(manifest.files):,} files, export {manifest.number}")
