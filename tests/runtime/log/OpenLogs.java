// Runs a real broker for the tests: one node, on the loopback interface, with log folders that a test has made.
//
//     OpenLogs create PROPERTIES TOPIC...   starts, creates the topics, prints each with its ID, stops
//     OpenLogs read PROPERTIES TOPIC...     starts, prints the records of partition 0 of the topics, as read by a client, stops

import java.io.FileReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Time;

public class OpenLogs {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (FileReader file = new FileReader(args[1])) {
            settings.load(file);
        }
        String address = settings.getProperty("advertised.listeners").substring("PLAINTEXT://".length());
        List<String> topics = Arrays.asList(args).subList(2, args.length);
        KafkaRaftServer server = new KafkaRaftServer(KafkaConfig.fromProps(settings), Time.SYSTEM);
        server.startup();
        try {
            if (args[0].equals("create")) {
                create(address, topics);
            } else {
                for (String level : List.of("read_uncommitted", "read_committed")) {
                    for (String topic : topics) {
                        read(address, topic, level);
                    }
                }
            }
        } finally {
            server.shutdown();
            server.awaitShutdown();
        }
        System.exit(0);
    }

    private static void create(String address, List<String> topics) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            for (String topic : topics) {
                NewTopic topicToCreate = new NewTopic(topic, 1, (short) 1).configs(Map.of("retention.ms", "-1"));
                var result = admin.createTopics(List.of(topicToCreate));
                result.all().get(60, TimeUnit.SECONDS);
                System.out.println("topic " + topic + " " + result.topicId(topic).get());
            }
        }
    }

    private static void read(String address, String topic, String level) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "isolation.level", level);
        var bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            TopicPartition partition = new TopicPartition(topic, 0);
            List<TopicPartition> all = List.of(partition);
            consumer.assign(all);
            consumer.seekToBeginning(all);
            long end = consumer.endOffsets(all, Duration.ofSeconds(60)).get(partition);
            long until = System.currentTimeMillis() + 60_000;
            while (consumer.position(partition, Duration.ofSeconds(60)) < end && System.currentTimeMillis() < until) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    String place = String.join(" ", "record", level, topic, "" + record.offset(), "" + record.timestamp());
                    System.out.println(place + " " + text(record.key()) + " " + text(record.value()));
                }
            }
            System.out.println("end " + level + " " + topic + " " + end);
        }
    }

    private static String text(byte[] data) {
        return data == null ? "null" : "=" + Base64.getEncoder().encodeToString(data);
    }
}
