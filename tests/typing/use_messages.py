"""Check which types a type checker infers in user code with the generated Kafka classes."""

from typing import Any, ClassVar, assert_type

import tagwire
import tagwire_messages as messages
from tagwire_messages.metadata_request import MetadataRequestTopic
from tagwire_messages.metadata_response import MetadataResponseBroker

request = messages.MetadataRequest(
    topics=[MetadataRequestTopic(name="a"), MetadataRequestTopic(name=None)],
    allow_auto_topic_creation=False,
)
assert_type(request.topics, tuple[MetadataRequestTopic, ...] | None)
assert_type(request.allow_auto_topic_creation, bool)
assert_type(request.replace(topics=None), messages.MetadataRequest)

data = request.encode(12)
assert_type(data, bytes)
assert_type(request.encoded_size(12), int)
assert_type(messages.MetadataRequest.decode(data, 12), messages.MetadataRequest)
assert_type(messages.MetadataRequest.decode(memoryview(data), 12, strict=False, views=True), messages.MetadataRequest)
assert_type(messages.MetadataRequest.decode_from(data, 12), tuple[messages.MetadataRequest, int])
assert_type(request.to_json(12), dict[str, Any])
assert_type(messages.MetadataRequest.from_json({}, 12), messages.MetadataRequest)

assert_type(messages.MetadataRequest.VERSIONS, tagwire.Versions)
assert_type(messages.MetadataRequest.header_version(12), int)
assert_type(request.supported_versions(), tagwire.Versions)
assert_type(request.losses(0), tuple[tagwire.Loss, ...])
assert_type(list(messages.MetadataRequest.VERSIONS), list[int])

assert_type(messages.registry, tagwire.Registry[messages.RequestHeader, messages.ResponseHeader])
assert_type(messages.registry.names(), list[str])
assert_type(messages.registry.request_header, type[messages.RequestHeader])
assert_type(messages.registry.response_header, type[messages.ResponseHeader])
assert_type(messages.registry.decode_header(data), tuple[messages.RequestHeader, int])

RequestFrame = tagwire.Frame[messages.MetadataRequest, messages.RequestHeader]
ResponseFrame = tagwire.Frame[messages.MetadataResponse, messages.ResponseHeader]
assert_type(messages.registry.decode_request(data), tagwire.Frame[Any, messages.RequestHeader])
assert_type(messages.registry.decode_request(data, messages.MetadataRequest), RequestFrame)
assert_type(messages.registry.decode_request(data, messages.MetadataRequest, strict=False), RequestFrame)
assert_type(messages.MetadataRequest.decode_frame(data), RequestFrame)
assert_type(messages.MetadataRequest.decode_frame(data).header.client_id, str | None)
assert_type(messages.registry.decode_response(data, 3, 12), tagwire.Frame[Any, messages.ResponseHeader])
assert_type(messages.registry.decode_response(data, messages.MetadataResponse, 12), ResponseFrame)
assert_type(messages.MetadataResponse.decode_frame(data, 12, views=True), ResponseFrame)
assert_type(messages.MetadataResponse.decode_frame(data, 12).header.correlation_id, int)
assert_type(messages.registry.encode_request(request, 12, correlation_id=1, client_id="me"), bytes)
assert_type(messages.ApiKey(3), messages.ApiKey)
assert_type(tagwire.negotiate(messages.MetadataRequest, {3: (0, 12)}), int)

splitter = tagwire.FrameSplitter(max_size=1 << 20)
splitter.feed(data)
for frame in splitter:
    assert_type(frame, bytes)

try:
    messages.MetadataRequest.decode(b"", 12, limits=tagwire.Limits())
except tagwire.DecodeError as error:
    assert_type(error.offset, int)
    assert_type(error.path, str)

assert_type(messages.MetadataResponse().brokers, tuple[MetadataResponseBroker, ...])
messages.MetadataRequest(topics=(topic for topic in request.topics or ()), unknown_tags={9: b""})


class Counted(messages.MetadataRequest):
    seen: ClassVar[int] = 0

    def __init__(self, count: int) -> None:
        super().__init__(topics=[MetadataRequestTopic(name=str(each)) for each in range(count)])


assert_type(Counted(3).replace(topics=None), Counted)
messages.MetadataRequest(topics=[1])  # type: ignore[list-item]
messages.MetadataRequest(unknown_tags=())  # type: ignore[arg-type]
MetadataRequestTopic(name=1)  # type: ignore[arg-type]
MetadataRequestTopic(topic_id=None)  # type: ignore[arg-type]
messages.MetadataRequest(topic=[])  # type: ignore[call-arg]
messages.MetadataRequest([])  # type: ignore
messages.MetadataRequest(allow_auto_topic_creation="no")  # type: ignore[arg-type]
messages.registry.encode_request(request, 12, header=messages.ResponseHeader())  # type: ignore[arg-type]
request.encode("12")  # type: ignore[arg-type]
print(messages.NoSuchRequest)  # type: ignore[attr-defined]
assert_type(messages.ListOffsetRequest(), messages.ListOffsetsRequest)  # an older name of ListOffsetsRequest
