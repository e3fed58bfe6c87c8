#!/usr/bin/env bash
# Run the examples of docs/howto-broker.md against a real broker: the one in KAFKA_HOME, otherwise the release KAFKA
# (default: 4.1.0), downloaded by Maven. Needs Java. The broker listens on loopback; its folder is removed at the end.
. "$(dirname "$0")/environment.sh"
jars=${KAFKA_HOME:+$KAFKA_HOME/libs}
if [ -z "$jars" ]; then
    release=${KAFKA:-4.1.0}
    jars=$PWD/build/broker-$release
    if [ ! -e "$jars/.complete" ]; then
        mkdir -p "$jars"
        cat >"$jars/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>broker</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$release</version>
</dependency></dependencies></project>
POM
        mvn -q -B -f "$jars/pom.xml" dependency:copy-dependencies -DoutputDirectory="$jars"
        touch "$jars/.complete"
    fi
fi
folder=$(mktemp -d)
trap 'kill "$broker" 2>/dev/null || true; wait "$broker" 2>/dev/null || true; rm -rf "$folder"' EXIT
read -r port controller < <($bin/python -c 'import socket
both = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(each.getsockname()[1] for each in both))')
cat >"$folder/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$folder/logs
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
PROPERTIES
java=(java -Xmx512m -cp "$jars/*")
"${java[@]}" kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c "$folder/server.properties" >"$folder/format.txt"
"${java[@]}" kafka.Kafka "$folder/server.properties" >"$folder/broker.txt" 2>&1 &
broker=$!
TAGWIRE_BROKER=127.0.0.1:$port $bin/python -m pytest -n 0 tests/test_docs_examples.py -k a_real_broker ||
    { tail -20 "$folder/broker.txt"; exit 1; }
