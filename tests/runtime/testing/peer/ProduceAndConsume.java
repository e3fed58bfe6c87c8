// Runs Kafka's own clients for the tests: produces one record and consumes it.
//
//     ProduceAndConsume BOOTSTRAP      prints the offset of the produced record, then offset, key and value of the consumed one

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class ProduceAndConsume {
    public static void main(String[] words) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", words[0]);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            var sent = producer.send(new ProducerRecord<>("orders", 0, "k", "v")).get(20, TimeUnit.SECONDS);
            System.out.println(sent.offset());
        }
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            var partition = List.of(new TopicPartition("orders", 0));
            consumer.assign(partition);
            consumer.seekToBeginning(partition);
            for (var record : consumer.poll(Duration.ofSeconds(20))) {
                System.out.println(record.offset() + " " + record.key() + " " + record.value());
            }
        }
    }
}
