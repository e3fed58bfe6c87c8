// Runs Kafka's own message classes for the tests: reads each line of input as a message, and writes it again.
//
//     request|response KEY VERSION HEX      prints the written bytes in hex
//
// Prints ! and the error if the bytes are rejected, ~ if the message can't be written, and ? if the version is unknown.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class ReadAndWrite {
    public static void main(String[] words) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(" ", -1)));
        }
    }

    private static String answer(String[] words) {
        ApiMessageType type;
        short version = Short.parseShort(words[2]);
        try {
            type = ApiMessageType.fromApiKey(Short.parseShort(words[1]));
        } catch (RuntimeException error) {
            return "? no such key";
        }
        if (version < type.lowestSupportedVersion() || version > type.highestSupportedVersion(false)) {
            return "? no such version";
        }
        var message = words[0].equals("request") ? type.newRequest() : type.newResponse();
        try {
            message.read(new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(words[3]))), version);
        } catch (RuntimeException error) {
            return "! " + error.getMessage();
        }
        try {
            var cache = new ObjectSerializationCache();
            var written = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(written), cache, version);
            return HexFormat.of().formatHex(written.array());
        } catch (RuntimeException error) {
            return "~ " + error.getMessage();
        }
    }
}
