"""The command `table-store`: set-up, diagnosis, and the stock shell with the right settings.

Exit codes: 0 done, 1 refused or a problem found, 2 wrong usage. Results go to standard output,
everything else to standard error.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import importlib.resources
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from table_store import delta_jars, spark_defaults
from table_store.catalog.bridge import bridge_jar
from table_store.catalog.service.service_errors import ServiceNotInstalledError
from table_store.doctor import Finding, examine, patient_of_this_process
from table_store.setup_plan import Change, plan_setup, plan_undo
from table_store.spark_home import SparkHome, find_spark_home
from table_store.storage.kernel.errors import TableStoreError

_DISTRIBUTION = "spark-table-store"
_REFUSED = 1
_OWN_ARGUMENTS = {"sql": 1, "run": 2}
_TAKES_OTHERS = ("jobs", "thriftserver")
_JOB_HOST = "org.apache.spark.sql.tablestore.JobHost"
_THRIFT_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; each command's function is its default `run`."""
    parser = argparse.ArgumentParser(
        prog="table-store", description="Built-in storage for Spark SQL tables."
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_setup(commands.add_parser("setup", help="put jar and configuration into Spark"))
    _add_doctor(commands.add_parser("doctor", help="say what is missing, each with its remedy"))
    sql = commands.add_parser("sql", help="start the stock spark-sql with this environment")
    sql.epilog = "Everything after `sql` is passed on to spark-sql, its options too."
    sql.set_defaults(run=_sql, arguments=[])
    run = commands.add_parser("run", help="run a script with progress, and stay for its jobs")
    run.description = (
        "Run a script in the stock spark-sql with a line for each epoch of a job and of a refresh, "
        "and stay until the jobs of its streaming INSERTs have ended."
    )
    run.add_argument("script", help="a file of SQL")
    run.epilog = "Everything after the script is passed on to spark-sql, its options too."
    run.set_defaults(run=_run, arguments=[])
    jobs = commands.add_parser(
        "jobs", help="host the jobs and scheduled views of a warehouse", allow_abbrev=False
    )
    jobs.description = (
        "Run the job runner of a warehouse as an application of Spark: it hosts the streaming "
        "INSERTs that were submitted to it and refreshes the materialized views that have a "
        "schedule, until it is told to end. Of several on one warehouse one works, and the others "
        "stand by."
    )
    jobs.add_argument("--catalog", metavar="NAME", help="whose warehouse; default: the current one")
    jobs.epilog = "All other arguments are passed on to spark-submit."
    jobs.set_defaults(run=_jobs, arguments=[])
    _add_thrift_server(
        commands.add_parser(
            "thriftserver", help="serve JDBC and BI tools by the stock Thrift server"
        )
    )
    _add_meta_service(
        commands.add_parser("meta-service", help="serve the topology: a page, REST and metrics")
    )
    jar = commands.add_parser("jar-path", help="print where the bridge's jar is (for a cluster)")
    jar.set_defaults(run=_jar_path)
    return parser


def _add_setup(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Put the bridge's jar, Delta's jars and a spark-defaults.conf where this environment's "
        "Spark finds them without flags. Running it again changes nothing."
    )
    parser.add_argument("--yes", action="store_true", help="do not ask before changing a file")
    parser.add_argument("--dry-run", action="store_true", help="only say what would change")
    parser.add_argument("--undo", action="store_true", help="take everything back")
    parser.add_argument("--no-delta", action="store_true", help="without Delta's jars")
    parser.add_argument("--ivy-settings", type=Path, metavar="FILE", help="where Ivy fetches Delta")
    _add_common(parser)
    parser.set_defaults(run=_setup)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = "Look at every part that must be there. Exit code 1: one is not."
    _add_common(parser)
    parser.set_defaults(run=_doctor)


def _add_thrift_server(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run Spark's own Thrift server with this environment, in the foreground, until it is told "
        "to end. Without --host only this machine reaches it; it asks nobody for a password."
    )
    parser.allow_abbrev = False
    parser.add_argument("--host", default="127.0.0.1", help="the address at which it listens")
    parser.add_argument("--port", type=int, default=10000, help="default: 10000")
    parser.epilog = "All other arguments are passed on to spark-submit."
    parser.set_defaults(run=_thrift_server, arguments=[])


def _add_meta_service(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Serve what a warehouse says of its jobs: a page at /, REST below /v1, and metrics for "
        "Prometheus. Without --host only this machine reaches it."
    )
    parser.add_argument("--warehouse", required=True, metavar="PATH", help="path or URI")
    parser.add_argument("--host", default="127.0.0.1", help="needs --token-file if not loopback")
    parser.add_argument("--port", type=int, default=8188, help="0 is any that is free")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="what requests must bear")
    parser.add_argument("--tls-certificate", type=Path, metavar="FILE", help="in PEM")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="in PEM")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.set_defaults(run=_meta_service)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spark-home", type=Path, metavar="DIR", help="another Spark than ours")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _setup(options: argparse.Namespace) -> int:
    home = find_spark_home(os.environ, options.spark_home)
    with tempfile.TemporaryDirectory(prefix="table-store-setup-") as folder:
        changes = plan_undo(home) if options.undo else _changes(home, options, Path(folder))
        existing = [c for c in changes if c.is_others]
        if existing and not options.dry_run and not options.yes and not _agreed(existing):
            return _refuse("Nothing was changed. `--yes` changes these files without asking.")
        summaries = [c.summary for c in changes]
        if not options.dry_run:
            for change in changes:
                change.apply()
    _report_changes(summaries, options)
    return 0


def _changes(home: SparkHome, options: argparse.Namespace, folder: Path) -> tuple[Change, ...]:
    """Return what set-up has to change; missing jars of Delta are fetched into `folder`."""
    bridge_jar.build(_version())
    jars = [bridge_jar.JAR_PATH]
    defaults = _shipped("spark-defaults.conf")
    has_delta = not options.no_delta and not delta_jars.missing(home.jars)
    if not options.no_delta and not has_delta and options.dry_run:
        sys.stderr.write("delta: its jars (13 MB) would be fetched and added\n")
    elif not options.no_delta and not has_delta:
        sys.stderr.write("delta: fetching its jars (13 MB)\n")
        try:
            delta_jars.fetch(home, folder, options.ivy_settings)
            jars += [folder / name for name in delta_jars.JAR_NAMES]
            has_delta = True
        except delta_jars.DeltaNotFetchedError as error:
            sys.stderr.write(f"{error}\n")
    if has_delta:
        defaults = spark_defaults.overlaid(defaults, _shipped("spark-delta.conf"))
    return plan_setup(home, jars=jars, defaults=defaults, log4j=_shipped("log4j2.properties"))


def _report_changes(changes: Sequence[str], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps({"applied": not options.dry_run, "changes": list(changes)}, indent=2))
        return
    for change in changes:
        print(f"would {change}" if options.dry_run else change)
    if not changes:
        print("nothing to undo" if options.undo else "set up already")


def _agreed(changes: Sequence[Change]) -> bool:
    sys.stderr.write("These files are there already and would be changed:\n")
    for change in changes:
        sys.stderr.write(f"  {change.path}\n")
    if not sys.stdin.isatty():
        return False
    sys.stderr.write("Change them? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _doctor(options: argparse.Namespace) -> int:
    findings = examine(patient_of_this_process(_version(), options.spark_home))
    if options.json:
        print(json.dumps([dataclasses.asdict(f) for f in findings], indent=2))
    else:
        for finding in findings:
            print(_finding_text(finding))
    return 0 if all(f.is_ok or not f.is_needed for f in findings) else _REFUSED


def _finding_text(finding: Finding) -> str:
    state = "ok" if finding.is_ok else "MISSING" if finding.is_needed else "without"
    text = f"{state:<8} {finding.part}: {finding.detail}"
    return text if finding.is_ok else f"{text}\n         → {finding.remedy}"


def _sql(options: argparse.Namespace) -> int:
    return _become_shell(options.arguments)


def _run(options: argparse.Namespace) -> int:
    if not Path(options.script).is_file():
        return _refuse(f"There is no script {options.script}. Name a file of SQL.")
    # The bar is drawn over and over, which is of use on a terminal alone.
    shown = (
        ("spark.tablestore.jobs.progress", "true"),
        (
            "spark.ui.showConsoleProgress",
            str(sys.stderr.isatty()).lower(),
        ),
    )
    conf = [word for key, value in shown for word in ("--conf", f"{key}={value}")]
    return _become_shell([*conf, *options.arguments, "-f", options.script])


def _jobs(options: argparse.Namespace) -> int:
    catalog = [] if options.catalog is None else [options.catalog]
    application = ["--class", _JOB_HOST, *options.arguments, "spark-internal", *catalog]
    return _become("spark-submit", application)


def _thrift_server(options: argparse.Namespace) -> int:
    prefix = "hive.server2.thrift"
    listen = {"port": str(options.port), "bind.host": options.host}
    own = [
        word for key, value in listen.items() for word in ("--hiveconf", f"{prefix}.{key}={value}")
    ]
    return _become(
        "spark-submit", ["--class", _THRIFT_SERVER, *options.arguments, "spark-internal", *own]
    )


def _become_shell(arguments: Sequence[str]) -> NoReturn:
    _become("spark-sql", arguments)


def _become(name: str, arguments: Sequence[str]) -> NoReturn:
    """Become a program of Spark, which finds Spark and its workers by `python3` on the PATH."""
    home = find_spark_home(os.environ)
    programs = Path(sys.executable).parent
    path = os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath)))
    own = {"PATH": path, "SPARK_HOME": str(home.path), "PYSPARK_PYTHON": sys.executable}
    program = str(home.path / "bin" / name)
    sys.stdout.flush()
    os.execve(program, [program, *arguments], {**os.environ, **own})


def _meta_service(options: argparse.Namespace) -> int:
    try:  # the libraries of the service are optional, and nothing else loads them
        from table_store.catalog.service.server import ServiceSettings, serve
    except ModuleNotFoundError as error:
        raise ServiceNotInstalledError(package=error.name or "?") from error
    settings = ServiceSettings(
        warehouse=options.warehouse,
        host=options.host,
        port=options.port,
        token_file=options.token_file,
        certificate=options.tls_certificate,
        key=options.tls_key,
        is_log_json=options.log_format == "json",
    )
    serve(settings, lambda address: print(f"MetaService: {address}", flush=True))
    return 0


def _jar_path(_: argparse.Namespace) -> int:
    bridge_jar.build(_version())
    print(bridge_jar.JAR_PATH)
    return 0


def _shipped(name: str) -> str:
    return importlib.resources.files("table_store.conf").joinpath(name).read_text(encoding="utf-8")


def _version() -> str:
    return importlib.metadata.version(_DISTRIBUTION)


def _refuse(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return _REFUSED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # All arguments after `sql`, and after the script of `run`, are spark-sql's: passed on unread.
    own_count = _OWN_ARGUMENTS.get(given[0], len(given)) if given else 0
    own, passed_on = given[:own_count], given[own_count:]
    options, others = build_parser().parse_known_args(own)
    if others and own[0] not in _TAKES_OTHERS:
        build_parser().error(f"unrecognized arguments: {' '.join(others)}")
    options.arguments = others + passed_on
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except (TableStoreError, bridge_jar.BridgeBuildError) as error:
        return _refuse(str(error))
    except OSError as error:
        where = error.filename or "?"
        return _refuse(f"[TABLE_STORE_FILE_ACCESS] {where}: {error.strerror}. SQLSTATE: 58030")


if __name__ == "__main__":
    sys.exit(main())
