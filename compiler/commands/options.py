"""Options that several commands share."""

from __future__ import annotations

import argparse

from neelc.files import CallError


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Declare `--stream`, `--arg` and `--aggregates`."""
    add_aggregates(parser)
    parser.add_argument(
        "--stream",
        metavar="NAME=PATH[,...]",
        action="append",
        default=[],
        help="a stream's data: CSV, JSON lines or Parquet; then timestamp=COLUMN, type=COLUMN, end=COLUMN, "
        "unit=ms, timestamp_format='dd/MM/yyyy HH:mm', format=csv, delimiter=';' as needed (may be repeated)",
    )
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of :NAME in the script: 10, 0.5, true, text, 'text', 10 SECONDS (may be repeated)",
    )
    add_untrusted(parser)


def add_untrusted(parser: argparse.ArgumentParser) -> None:
    """Declare `--untrusted`."""
    parser.add_argument(
        "--untrusted",
        action="store_true",
        help="the script may read the streams that are given here and nothing else: no file that it names, "
        "no other table, no function outside a list",
    )


def add_aggregates(parser: argparse.ArgumentParser) -> None:
    """Declare `--aggregates`."""
    parser.add_argument(
        "--aggregates",
        metavar="FILE",
        action="append",
        default=[],
        help="a Python file: its functions with @neelc.aggregate(returns=TYPE) can be called for lists "
        "(may be repeated)",
    )


def add_statistics(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare `--stats`."""
    parser.add_argument(
        "--stats",
        metavar="FILE",
        help="a JSON file with statistics of the streams; what WITH STATS says goes before it",
    )


STRATEGIES = ("kernel", "join", "window", "nested")


def add_strategy(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare `--strategy` and the limits, `--most-rows` and `--most-matches`."""
    parser.add_argument(
        "--strategy", choices=STRATEGIES, help="how the pattern is searched for (the way that costs least)"
    )
    parser.add_argument(
        "--most-rows",
        metavar="N",
        type=float,
        help="refuse a result that is expected to have more rows (10 billion)",
    )
    parser.add_argument(
        "--most-matches", metavar="N", type=int, help="fail if one task finds more matches (50 million)"
    )


TIME_ZONE = "spark.sql.session.timeZone"


def add_timezone(
    parser: argparse.ArgumentParser, help: str = "the time zone of the session: Europe/Berlin, +02:00 (UTC)"
) -> None:
    """Declare `--timezone`."""
    parser.add_argument("--timezone", metavar="ZONE", type=_time_zone, help=help)


def _time_zone(name: str) -> str:
    from neelc.ir.moments import zone_of

    try:
        zone_of(name)
    except ValueError:
        message = f"{name}: no time zone has this name; such as Europe/Berlin, UTC or +02:00"
        raise argparse.ArgumentTypeError(message) from None
    return name


def with_timezone(settings: dict[str, str], zone: str | None) -> dict[str, str]:
    """The settings of Spark with the time zone that is asked for."""
    if zone is None:
        return settings
    said = settings.get(TIME_ZONE, zone)
    if said != zone:
        raise CallError(f"--timezone {zone}: --conf {TIME_ZONE}={said} says another one")
    return {**settings, TIME_ZONE: zone}


def add_spark(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Declare `--master`, `--remote` and `--conf`; more may be added to their group."""
    spark = parser.add_argument_group("Spark")
    where = spark.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", help="where Spark runs (local[*])")
    where.add_argument("--remote", metavar="URL", help="a server of Spark Connect: sc://host:port")
    spark.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting of Spark (may be repeated)",
    )
    return spark


def refuse_spark(command: str, options: argparse.Namespace, *more: str) -> None:
    """Refuse settings of Spark for a run without it."""
    for name in ("master", "remote", "conf", *more):
        if getattr(options, name.replace("-", "_")):
            raise CallError(f"{command} --{name}: a setting of Spark, which --engine reference does without")
