"""A mock peer that Kafka clients can bootstrap from, produce to, and consume from.

It has one topic with one partition, in memory. It shows how far a short script gets; it is not a broker.
"""

import uuid

import tagwire_messages as kafka
from tagwire.records import RecordBatch, read_batches
from tagwire.testing.peer import MockPeer, Received, Reply
from tagwire_messages.fetch_response import FetchableTopicResponse, PartitionData
from tagwire_messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from tagwire_messages.metadata_response import MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic
from tagwire_messages.produce_response import PartitionProduceResponse, TopicProduceResponse

TOPIC = "orders"
TOPIC_ID = uuid.UUID(int=25)


class OneTopic:
    """A script for the mock peer: one topic that stores produced batches and returns them to consumers."""

    def __init__(self, peer: MockPeer) -> None:
        self.batches: list[RecordBatch] = []
        self.end = 0
        peer.on(kafka.MetadataRequest).reply(self.metadata)
        peer.on(kafka.InitProducerIdRequest).reply(kafka.InitProducerIdResponse(producer_id=1))
        peer.on(kafka.ProduceRequest).reply(self.produce)
        peer.on(kafka.ListOffsetsRequest).reply(self.list_offsets)
        peer.on(kafka.FetchRequest).reply(self.fetch)

    def metadata(self, request: Received) -> kafka.MetadataResponse:
        broker = MetadataResponseBroker(node_id=1, host=request.address.host, port=request.address.port)
        partition = MetadataResponsePartition(leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1])
        topic = MetadataResponseTopic(name=TOPIC, topic_id=TOPIC_ID, partitions=[partition])
        return kafka.MetadataResponse(brokers=[broker], controller_id=1, topics=[topic])

    def produce(self, request: Received) -> kafka.ProduceResponse:
        partition = PartitionProduceResponse(base_offset=self.end, log_start_offset=0)
        for batch in read_batches(request.message.topic_data[0].partition_data[0].records):
            self.batches.append(batch.replace(base_offset=self.end))
            self.end = self.batches[-1].last_offset + 1
        topic = TopicProduceResponse(name=TOPIC, topic_id=TOPIC_ID, partition_responses=[partition])
        return kafka.ProduceResponse(responses=[topic])

    def list_offsets(self, request: Received) -> kafka.ListOffsetsResponse:
        offset = self.end if request.message.topics[0].partitions[0].timestamp == -1 else 0
        topic = ListOffsetsTopicResponse(name=TOPIC, partitions=[ListOffsetsPartitionResponse(offset=offset)])
        return kafka.ListOffsetsResponse(topics=[topic])

    def fetch(self, request: Received) -> Reply:
        if not request.message.topics:  # a request without topics ends a fetch session
            return Reply(kafka.FetchResponse())
        start = request.message.topics[0].partitions[0].fetch_offset
        records = b"".join([batch.encode() for batch in self.batches if batch.last_offset >= start])
        partition = PartitionData(high_watermark=self.end, last_stable_offset=self.end, records=records)
        topic = FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])
        wait = 0 if records else request.message.max_wait_ms / 1000  # like a broker, wait for new records
        return Reply(kafka.FetchResponse(responses=[topic]), delay=wait)
