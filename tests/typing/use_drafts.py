"""The same for a package of a draft, and for a schema made at run time."""

from typing import assert_type

import tagwire_drafts.kip482 as zigzag
import tagwire_drafts.kip482_unsigned as unsigned

request = zigzag.FooRequest()
assert_type(request, zigzag.FooRequest)
assert_type(request.encode(9), bytes)
assert_type(unsigned.FooRequest.decode(b"", 9), unsigned.FooRequest)
other: unsigned.FooRequest = request  # type: ignore[assignment]
