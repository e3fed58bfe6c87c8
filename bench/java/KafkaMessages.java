import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.ApiVersionsResponseDataJsonConverter;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.HeartbeatResponseDataJsonConverter;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseDataJsonConverter;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestDataJsonConverter;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Java's own generated classes at the work of the benchmark, asked for a round at a time by `java_row.py`.
 *
 * In: `load NAME VERSION HEX`, answered by `same` or `differs` (what it writes back, also by way of JSON); then
 * `decode NAME SECONDS`, `encode`, `to_json_text` and `from_json_text`, answered by the nanoseconds of CPU time that one
 * call took. JSON text is made by way of Jackson's nodes, as Kafka's tools make it; Kafka's converters leave out records, so messages of records have none.
 */
public class KafkaMessages {
    interface Reader {
        Message read(Readable data, short version);
    }

    private static final Map<String, Reader> READERS = Map.of(
        "ApiVersionsResponse", ApiVersionsResponseData::new,
        "FetchResponse", FetchResponseData::new,
        "HeartbeatResponse", HeartbeatResponseData::new,
        "MetadataResponse", MetadataResponseData::new,
        "OffsetCommitRequest", OffsetCommitRequestData::new,
        "ProduceRequest", ProduceRequestData::new);

    interface JsonWriter {
        JsonNode write(Message message, short version);
    }

    interface JsonReader {
        Message read(JsonNode node, short version);
    }

    private static final Map<String, JsonWriter> JSON_WRITERS = Map.of(
        "ApiVersionsResponse",
        (message, version) -> ApiVersionsResponseDataJsonConverter.write((ApiVersionsResponseData) message, version),
        "HeartbeatResponse",
        (message, version) -> HeartbeatResponseDataJsonConverter.write((HeartbeatResponseData) message, version),
        "MetadataResponse",
        (message, version) -> MetadataResponseDataJsonConverter.write((MetadataResponseData) message, version),
        "OffsetCommitRequest",
        (message, version) -> OffsetCommitRequestDataJsonConverter.write((OffsetCommitRequestData) message, version));

    private static final Map<String, JsonReader> JSON_READERS = Map.of(
        "ApiVersionsResponse", ApiVersionsResponseDataJsonConverter::read,
        "HeartbeatResponse", HeartbeatResponseDataJsonConverter::read,
        "MetadataResponse", MetadataResponseDataJsonConverter::read,
        "OffsetCommitRequest", OffsetCommitRequestDataJsonConverter::read);

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Map<String, Runnable> WORK = new LinkedHashMap<>();
    private static volatile Object sink;

    private static byte[] written(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static String asText(String name, Message message, short version) throws Exception {
        return MAPPER.writeValueAsString(JSON_WRITERS.get(name).write(message, version));
    }

    private static Message ofText(String name, String text, short version) throws Exception {
        return JSON_READERS.get(name).read(MAPPER.readTree(text), version);
    }

    /** The call as work; its exceptions end the program. */
    private static Runnable work(Callable<Object> call) {
        return () -> {
            try {
                sink = call.call();
            } catch (Exception exception) {
                throw new IllegalStateException(exception);
            }
        };
    }

    private static String load(String name, short version, byte[] data) throws Exception {
        Reader reader = READERS.get(name);
        Message message = reader.read(new ByteBufferAccessor(ByteBuffer.wrap(data)), version);
        WORK.put("decode " + name, () -> sink = reader.read(new ByteBufferAccessor(ByteBuffer.wrap(data)), version));
        WORK.put("encode " + name, () -> sink = MessageUtil.toByteBufferAccessor(message, version).buffer());
        boolean isSame = Arrays.equals(written(message, version), data);
        if (JSON_WRITERS.containsKey(name)) {
            String text = asText(name, message, version);
            WORK.put("to_json_text " + name, work(() -> asText(name, message, version)));
            WORK.put("from_json_text " + name, work(() -> ofText(name, text, version)));
            isSame &= Arrays.equals(written(ofText(name, text, version), version), data);
        }
        return isSame ? "same" : "differs";
    }

    private static double measure(Runnable work, double seconds) {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        long start = THREADS.getCurrentThreadCpuTime();
        long calls = 0;
        do {
            for (int i = 0; i < 16; i++) {
                work.run();
            }
            calls += 16;
        } while (System.nanoTime() < until);
        return (THREADS.getCurrentThreadCpuTime() - start) / (double) calls;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("load")) {
                System.out.println(load(words[1], Short.parseShort(words[2]), HexFormat.of().parseHex(words[3])));
            } else {
                System.out.println(measure(WORK.get(words[0] + " " + words[1]), Double.parseDouble(words[2])));
            }
            System.out.flush();
        }
    }
}
