"""Check the type annotations of the draft packages, and of a schema that is built at run time."""

from typing import assert_type

import tagwire
import tagwire_drafts.kip482 as zigzag
import tagwire_drafts.kip482_unsigned as unsigned
import tagwire_records

request = zigzag.FooRequest()
assert_type(request, zigzag.FooRequest)
assert_type(request.encode(9), bytes)
assert_type(unsigned.FooRequest.decode(b"", 9), unsigned.FooRequest)
frame = zigzag.FooRequest.decode_frame(b"")
assert_type(frame.header, zigzag.RequestHeader)
assert_type(frame, tagwire.Frame[zigzag.FooRequest, zigzag.RequestHeader])
assert_type(zigzag.registry.decode_request(b"").header, zigzag.RequestHeader)
# `tagwire_records` has no header messages, so its registry type has no type arguments.
assert_type(tagwire_records.registry, tagwire.Registry)
other: unsigned.FooRequest = request  # type: ignore[assignment]
