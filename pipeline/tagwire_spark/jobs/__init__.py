"""Spark jobs for logs and captures that are too large for one machine. `tagwire spark` runs most of them.

    convert_logs        rewrite logs in another format, codec or batch size
    compact_logs        keep the last record of every key
    whatif_logs         measure what another format would save
    export_logs         export logs as Parquet
    import_logs         restore exported logs, byte for byte
    audit_captures      list which clients send which versions, and which releases reject them
    log_state           read consumer offsets and transactional state as tables
    read_logs           read the rows of kafka_log as a DataFrame; workers plan the read, not the driver

A task processes a segment or a partition. It writes records directly to files, and returns only a few numbers, so
records never pass through the JVM or the driver. Paths and outputs may be URLs, whose file systems `storage_options`
configure. An output for a URL is written to `work_folder` first, and then uploaded. An output appears only when it is
complete. docs/spark-jobs.md is the guide.
"""

from tagwire_spark.jobs.audit import audit_captures
from tagwire_spark.jobs.compact import compact_logs
from tagwire_spark.jobs.convert import convert_logs, whatif_logs
from tagwire_spark.jobs.export import export_logs
from tagwire_spark.jobs.read import read_logs
from tagwire_spark.jobs.restore import import_logs
from tagwire_spark.jobs.state import log_state

__all__ = [
    "audit_captures",
    "compact_logs",
    "convert_logs",
    "export_logs",
    "import_logs",
    "log_state",
    "read_logs",
    "whatif_logs",
]
