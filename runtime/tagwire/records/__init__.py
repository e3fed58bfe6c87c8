"""Batches of records: read, built and converted, in every format of Kafka and of the proposals.

    read_batches                        batches out of bytes
    RecordBatch, Record                 what they are
    BatchBuilder, build                 batches out of records
    convert                             one format to another, with what is lost
    Headers, ProducerRecord, ConsumerRecord
    control_record, should_retain       markers; what compaction keeps
    format_of, register, Format         formats by name, and your own
    FormatSet                           which formats a log may hold

docs/records.md explains them. Packed batches and CRC-32C need the extra
`records`.
"""

from tagwire.records.batch import RecordBatch
from tagwire.records.building import BatchBuilder, build
from tagwire.records.client_records import ConsumerRecord, ProducerRecord
from tagwire.records.control import ControlRecord, control_record
from tagwire.records.conversion import RecordLoss, convert
from tagwire.records.format import Format
from tagwire.records.format_set import FormatSet
from tagwire.records.formats import FormatError, format_names, format_of, register
from tagwire.records.headers import Headers
from tagwire.records.reading import read_batches
from tagwire.records.record import Record
from tagwire.records.retention import should_retain

__all__ = [
    "BatchBuilder",
    "ConsumerRecord",
    "ControlRecord",
    "Format",
    "FormatError",
    "FormatSet",
    "Headers",
    "ProducerRecord",
    "Record",
    "RecordBatch",
    "RecordLoss",
    "build",
    "control_record",
    "convert",
    "format_names",
    "format_of",
    "read_batches",
    "register",
    "should_retain",
]
