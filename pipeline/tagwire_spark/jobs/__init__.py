"""Jobs over logs and captures that outgrow one machine: functions here, `tagwire spark` on the command line.

    convert_logs        another format, codec or batch size
    whatif_logs         what another format would save
    audit_captures      which clients send which versions, and which releases refuse them

A task's work is a segment, and what it reports is a few numbers: records go from
file to file, never through the JVM and never to the driver. docs/spark.md is the
guide, and says what jobs cost.
"""

from tagwire_spark.jobs.audit import audit_captures
from tagwire_spark.jobs.convert import convert_logs
from tagwire_spark.jobs.whatif import whatif_logs

__all__ = ["audit_captures", "convert_logs", "whatif_logs"]
