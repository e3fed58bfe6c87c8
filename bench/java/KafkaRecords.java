import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Utils;

/**
 * Java's own batches of records at the work of the benchmark, asked for a round at a time by `records.py`.
 *
 * In: `load CODEC HEX`, answered by the number of records; then `parse CODEC SECONDS` and `build CODEC SECONDS`,
 * answered by the nanoseconds of CPU time that one batch took. Parsing verifies the checksum and copies keys and
 * values, as a consumer does.
 */
public class KafkaRecords {
    record Plain(long timestamp, byte[] key, byte[] value) { }

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Map<String, Runnable> WORK = new ConcurrentHashMap<>();
    private static volatile Object sink;

    private static List<Plain> parsed(byte[] data) {
        List<Plain> found = new ArrayList<>();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
            batch.ensureValid();
            for (Record record : batch) {
                sink = record.headers();
                found.add(new Plain(record.timestamp(), Utils.toArray(record.key()), Utils.toArray(record.value())));
            }
        }
        return found;
    }

    private static MemoryRecords built(List<Plain> records, CompressionType type) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(1 << 18), Compression.of(type).build(), TimestampType.CREATE_TIME, 0L);
        for (Plain each : records) {
            builder.append(each.timestamp(), each.key(), each.value());
        }
        return builder.build();
    }

    private static int load(String codec, byte[] data) {
        List<Plain> records = parsed(data);
        CompressionType type = CompressionType.forName(codec);
        WORK.put("parse " + codec, () -> sink = parsed(data));
        WORK.put("build " + codec, () -> sink = built(records, type));
        return records.size();
    }

    private static double measure(Runnable work, double seconds) {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        long start = THREADS.getCurrentThreadCpuTime();
        long calls = 0;
        do {
            work.run();
            calls++;
        } while (System.nanoTime() < until);
        return (THREADS.getCurrentThreadCpuTime() - start) / (double) calls;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("load")) {
                System.out.println(load(words[1], HexFormat.of().parseHex(words[2])));
            } else {
                System.out.println(measure(WORK.get(words[0] + " " + words[1]), Double.parseDouble(words[2])));
            }
            System.out.flush();
        }
    }
}
