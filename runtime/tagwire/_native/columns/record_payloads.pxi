"""Decode the messages in record keys or values, and add them to the records as the last column."""

cdef dict PAYLOADS = {
    "coordinator-key": TW_COORDINATOR_KEY,
    "coordinator-value": TW_COORDINATOR_VALUE,
    "metadata": TW_METADATA_RECORD,
}


cdef ArrowArray part(ArrowArray array, object column):
    cdef ArrowArray result = exported(array.shape, array.chunks, False)
    result.root, result.index = column, array.shape.index(column)
    return result


def with_message(ArrowArray array, root, str kind, api_key, decode):
    """Add a column of messages to an array of records. `decode(data, versions)` returns the column.

    If `kind` is in PAYLOADS (coordinator and metadata logs), a record contains a record type and a version in addition
    to the message. `api_key` is the type of the records to decode. `data` contains the messages of these records, and
    `versions` their versions; other rows are null. For any other `kind`, `data` contains the record values, and
    `versions` is None.
    """
    cdef ArrowArray joined = exported(array.shape, array.chunks, False)
    cdef Chunk split = Chunk()
    cdef tw_frame *frame = (<Chunk>array.chunks[0]).frame
    cdef Shape shape
    cdef int32_t control, key = -1, value = -1
    cdef int64_t type_key = -1 if api_key is None else api_key
    cdef int error, how = PAYLOADS.get(kind, TW_PLAIN_PAYLOAD)
    inner = array.root
    if how == TW_PLAIN_PAYLOAD:
        joined.other = decode(part(array, inner.child("value")), None)
    else:
        control = array.shape.index(inner.child("is_control"))
        if how != TW_METADATA_RECORD:
            key = array.shape.index(inner.child("key"))
        if how != TW_COORDINATOR_KEY:
            value = array.shape.index(inner.child("value"))
        body, version = Column("body", "z", nullable=True), Column("version", "i", nullable=True)
        shape = Shape(Column("", "+s", children=(body, version)))
        split.frame = shape.frame(frame.levels[0].length, MOST_BYTES)
        with nogil:
            error = tw_split_payloads(frame, control, key, value, how, type_key, split.frame)
            tw_complete(split.frame, False)
        check(error)
        both = exported(shape, [split], False)
        joined.other = decode(part(both, body), part(both, version))
    joined.root, joined.kept = root, len(root.children) - 1
    return joined
