// Runs Kafka's own log cleaner for the tests: compacts each partition folder in place, as a broker does.
//
//     CleanLogs FILE      lines of: folder, now, delete.retention.ms, first dirty offset, first uncleanable offset, passes

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import kafka.log.Cleaner;
import kafka.log.LogToClean;
import kafka.log.UnifiedLog;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;
import scala.runtime.BoxedUnit;

public class CleanLogs {
    private static final int DAY = 86_400_000;

    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] words = line.split("\t");
            Clock clock = new Clock(Long.parseLong(words[1]));
            try {
                clean(new File(words[0]), clock, words[2], Long.parseLong(words[3]), Long.parseLong(words[4]), Integer.parseInt(words[5]));
            } catch (Exception error) {
                throw new RuntimeException(line, error);
            }
        }
        System.exit(0);
    }

    private static void clean(File folder, Clock clock, String retention, long dirty, long uncleanable, int passes)
            throws Exception {
        LogConfig config = new LogConfig(Map.of("cleanup.policy", "compact", "delete.retention.ms", retention));
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        UnifiedLog log = UnifiedLog.apply(folder, config, 0L, 0L, scheduler, new BrokerTopicStats(false), clock, 5 * 60_000,
                new ProducerStateManagerConfig(DAY, false), 10 * 60_000, new LogDirFailureChannel(10), false, Option.empty(),
                false, new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        log.removeExpiredProducers(clock.milliseconds());
        TopicPartition partition = log.topicPartition();
        for (int pass = 0; pass < passes; pass++) {
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(1 << 22), 1 << 20, 1 << 26, 0.9,
                    new Throttler(Double.MAX_VALUE, 300, "throttle", "entries", clock), clock, any -> BoxedUnit.UNIT);
            cleaner.doClean(new LogToClean(partition, log, dirty, uncleanable, false), clock.milliseconds());
        }
        log.close();
        scheduler.shutdown();
    }

    /** A clock that always returns the same time. */
    private record Clock(long milliseconds) implements Time {
        public long hiResClockMs() {
            return milliseconds;
        }

        public long nanoseconds() {
            return TimeUnit.MILLISECONDS.toNanos(milliseconds);
        }

        public void sleep(long ms) {
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }
    }
}
