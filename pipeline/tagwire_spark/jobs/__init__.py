"""Jobs over logs and captures that outgrow one machine: functions here, `tagwire spark` on the command line.

    convert_logs        another format, codec or batch size
    compact_logs        the last record of every key
    whatif_logs         what another format would save
    export_logs         as Parquet, for any program that reads it
    import_logs         and back, byte for byte
    audit_captures      which clients send which versions, and which releases refuse them
    read_logs           the rows of kafka_log as a DataFrame, planned by workers

A task of a job works on a segment or a partition and reports a few numbers: records go from file to file,
never through the JVM or to the driver. docs/spark-jobs.md is the guide.
"""

from tagwire_spark.jobs.audit import audit_captures
from tagwire_spark.jobs.compact import compact_logs
from tagwire_spark.jobs.convert import convert_logs
from tagwire_spark.jobs.export import export_logs
from tagwire_spark.jobs.read import read_logs
from tagwire_spark.jobs.restore import import_logs
from tagwire_spark.jobs.whatif import whatif_logs

__all__ = [
    "audit_captures",
    "compact_logs",
    "convert_logs",
    "export_logs",
    "import_logs",
    "read_logs",
    "whatif_logs",
]
