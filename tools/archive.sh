#!/usr/bin/env bash
# Fetch the jars of Kafka's releases with Maven, and write message_specs/kafka from them; `git diff` should be empty.
. "$(dirname "$0")/environment.sh"
jars=build/jars
mkdir -p $jars
while IFS=: read -r artifact release; do # the first run takes minutes, because Maven starts once for each jar
    test -f "$jars/$artifact-$release.jar" ||
        mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
            -Dartifact="org.apache.kafka:$artifact:$release" -DoutputDirectory="$PWD/$jars" </dev/null
done <message_specs/releases.txt
$bin/tagwire import $(sed "s|\(.*\):\(.*\)|$jars/\1-\2.jar|" message_specs/releases.txt) --output message_specs/kafka
