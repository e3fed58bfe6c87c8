"""Read, build and convert batches of records, in every Kafka format and in the formats that KIPs proposed.

    committed                          the records of a fetched partition, as a consumer sees them
    read_batches                       read batches from bytes
    RecordBatch, Record                a batch and a record
    BatchBuilder, build                build batches from records
    convert                            convert a batch to another format, and list the losses
    decode_records, convert_records    the records in requests and responses
    open_records                       add the decoded records to a trace
    Headers, IntHeaders                the headers of a record, with string or int keys
    ProducerRecord, ConsumerRecord     records as producers and consumers see them
    control_record                     decode a control record, such as a commit marker
    should_retain                      decide whether compaction keeps a record
    format_of, register, Format        formats by name, and your own formats
    FormatSet                          the formats that a log may contain

See docs/records.md. Compressed batches and CRC-32C need the extra `records`.
"""

from tagwire.lazy import lazy_names
from tagwire.records.batch import RecordBatch
from tagwire.records.format import Format
from tagwire.records.format_set import FormatError, FormatSet, format_names, format_of, register
from tagwire.records.reading import read_batches
from tagwire.records.record import Record, should_retain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.records.building import BatchBuilder, build
    from tagwire.records.client_records import ConsumerRecord, ProducerRecord
    from tagwire.records.control import ControlRecord, committed, control_record
    from tagwire.records.conversion import RecordLoss, convert
    from tagwire.records.headers import Headers, IntHeaders
    from tagwire.records.message_records import MessageRecords, convert_records, decode_records
    from tagwire.records.opening import open_records

__all__ = [
    "BatchBuilder",
    "ConsumerRecord",
    "ControlRecord",
    "Format",
    "FormatError",
    "FormatSet",
    "Headers",
    "IntHeaders",
    "MessageRecords",
    "ProducerRecord",
    "Record",
    "RecordBatch",
    "RecordLoss",
    "build",
    "committed",
    "control_record",
    "convert",
    "convert_records",
    "decode_records",
    "format_names",
    "format_of",
    "open_records",
    "read_batches",
    "register",
    "should_retain",
]

_MODULES = {
    "tagwire.records.building": ("BatchBuilder", "build"),
    "tagwire.records.client_records": ("ConsumerRecord", "ProducerRecord"),
    "tagwire.records.control": ("ControlRecord", "committed", "control_record"),
    "tagwire.records.conversion": ("RecordLoss", "convert"),
    "tagwire.records.headers": ("Headers", "IntHeaders"),
    "tagwire.records.message_records": ("MessageRecords", "convert_records", "decode_records"),
    "tagwire.records.opening": ("open_records",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
