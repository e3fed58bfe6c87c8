import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Java's own generated classes at the work of the benchmark, asked for a round at a time by `java_row.py`.
 *
 * In: `load NAME VERSION HEX`, answered by `same` or `differs` (what it writes back); then `decode NAME SECONDS` and
 * `encode NAME SECONDS`, answered by the nanoseconds of CPU time that one call took.
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

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Map<String, Runnable> WORK = new LinkedHashMap<>();
    private static volatile Object sink;

    private static byte[] written(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static String load(String name, short version, byte[] data) {
        Reader reader = READERS.get(name);
        Message message = reader.read(new ByteBufferAccessor(ByteBuffer.wrap(data)), version);
        WORK.put("decode " + name, () -> sink = reader.read(new ByteBufferAccessor(ByteBuffer.wrap(data)), version));
        WORK.put("encode " + name, () -> sink = MessageUtil.toByteBufferAccessor(message, version).buffer());
        return Arrays.equals(written(message, version), data) ? "same" : "differs";
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
