package tagwire.bench

import java.nio.ByteBuffer
import org.apache.kafka.common.record.internal.MemoryRecords
import org.apache.kafka.common.utils.Utils
import org.apache.kafka.common.utils.internals.BufferSupplier
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types._
import scala.jdk.CollectionConverters._

/** A log read within the JVM: the records of a whole segment, held as bytes by Spark's source of binary files.
  *
  *   kafka_records(content)    offset, timestamp, key and value of each, by the classes of kafka-clients
  */
class KafkaRecords extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectFunction(
      (
        FunctionIdentifier("kafka_records"),
        new ExpressionInfo(getClass.getName, "kafka_records"),
        (arguments: Seq[Expression]) => RecordsOf(arguments.head)
      )
    )
}

case class RecordsOf(child: Expression) extends UnaryExpression with Generator with CodegenFallback {
  override def elementSchema: StructType = StructType.fromDDL("offset long, timestamp long, key binary, value binary")

  override def eval(input: InternalRow): IterableOnce[InternalRow] = {
    val buffers = BufferSupplier.create()
    val content = ByteBuffer.wrap(child.eval(input).asInstanceOf[Array[Byte]])
    MemoryRecords.readableRecords(content).batches.iterator.asScala.flatMap { batch =>
      batch.ensureValid() // the checksum
      batch.streamingIterator(buffers).asScala.map { record =>
        val key = Utils.toNullableArray(record.key)
        new GenericInternalRow(Array[Any](record.offset, record.timestamp, key, Utils.toNullableArray(record.value)))
      }
    }
  }

  override protected def withNewChildInternal(child: Expression): RecordsOf = copy(child = child)
}
