package tagwire.bench

import com.google.protobuf.DescriptorProtos.{DescriptorProto, FieldDescriptorProto, FileDescriptorProto}
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.{Label, Type}
import com.google.protobuf.Descriptors.{Descriptor, FieldDescriptor, FileDescriptor}
import com.google.protobuf.{DynamicMessage, Message}
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** What Spark's `from_protobuf` does for a row, for a benchmark where the jar of spark-protobuf can't be had: Google's
  * DynamicMessage of a descriptor, and a function for each field that puts it into a row which is used again.
  *
  *   as_protobuf(struct)            a struct as a message; its fields are numbered from 1
  *   of_protobuf(bytes, 'a int')    and back
  */
class ProtobufColumns extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    def add(name: String)(make: Seq[Expression] => Expression): Unit =
      extensions.injectFunction((FunctionIdentifier(name), new ExpressionInfo(getClass.getName, name), make))
    add("as_protobuf")(arguments => AsProtobuf(arguments.head))
    add("of_protobuf")(arguments => OfProtobuf(arguments.head, StructType.fromDDL(arguments(1).eval().toString)))
  }
}

object Shape {
  def descriptor(struct: StructType): Descriptor = {
    val file = FileDescriptorProto.newBuilder.setName("row.proto").addMessageType(message("Row", struct))
    FileDescriptor.buildFrom(file.build, Array.empty[FileDescriptor]).findMessageTypeByName("Row")
  }

  private def message(name: String, struct: StructType): DescriptorProto = {
    val made = DescriptorProto.newBuilder.setName(name)
    for ((column, index) <- struct.fields.zipWithIndex) {
      val field = FieldDescriptorProto.newBuilder.setName(column.name).setNumber(index + 1).setLabel(Label.LABEL_OPTIONAL)
      column.dataType match {
        case StringType  => field.setType(Type.TYPE_STRING)
        case IntegerType => field.setType(Type.TYPE_INT32)
        case LongType    => field.setType(Type.TYPE_INT64)
        case ArrayType(inner: StructType, _) =>
          made.addNestedType(message(s"Of_${column.name}", inner))
          field.setLabel(Label.LABEL_REPEATED).setType(Type.TYPE_MESSAGE).setTypeName(s"Of_${column.name}")
      }
      made.addField(field)
    }
    made.build
  }
}

abstract class OneColumn extends UnaryExpression {
  override def nullable: Boolean = true
  def of(input: Any): Any
  override protected def nullSafeEval(input: Any): Any = of(input)
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = {
    val self = context.addReferenceObj("self", this)
    defineCodeGen(context, code, input => s"(${CodeGenerator.boxedType(dataType)}) $self.of($input)")
  }
}

case class OfProtobuf(child: Expression, struct: StructType) extends OneColumn {
  override def dataType: DataType = struct
  @transient private lazy val descriptor = Shape.descriptor(struct)
  @transient private lazy val row = new SpecificInternalRow(struct)
  @transient private lazy val fill = filler(descriptor, struct)
  @transient private lazy val known = descriptor.getFields.toArray(Array.empty[FieldDescriptor]).map(_.getNumber).toSet

  override def of(input: Any): Any = {
    val message = DynamicMessage.parseFrom(descriptor, input.asInstanceOf[Array[Byte]])
    val unknown = message.getUnknownFields.asMap.keySet.iterator
    while (unknown.hasNext) if (known(unknown.next())) throw new IllegalArgumentException("a field is of another type")
    fill(message, row)
    row
  }

  private def filler(descriptor: Descriptor, struct: StructType): (Message, InternalRow) => Unit = {
    val fields = struct.fields.map(column => descriptor.findFieldByName(column.name))
    val puts = struct.fields.map(column => put(column.dataType, descriptor.findFieldByName(column.name)))
    (message, row) => {
      var index = 0
      while (index < fields.length) {
        val field = fields(index)
        if (field.isRepeated || message.hasField(field)) puts(index)(row, index, message.getField(field))
        else row.setNullAt(index)
        index += 1
      }
    }
  }

  private def put(kind: DataType, field: FieldDescriptor): (InternalRow, Int, Any) => Unit = kind match {
    case IntegerType => (row, index, value) => row.setInt(index, value.asInstanceOf[Int])
    case LongType    => (row, index, value) => row.setLong(index, value.asInstanceOf[Long])
    case StringType  => (row, index, value) => row.update(index, UTF8String.fromString(value.asInstanceOf[String]))
    case ArrayType(inner: StructType, _) =>
      val fill = filler(field.getMessageType, inner)
      (row, index, value) => {
        val messages = value.asInstanceOf[java.util.List[Message]]
        val rows = new Array[Any](messages.size)
        var number = 0
        while (number < rows.length) {
          val one = new SpecificInternalRow(inner)
          fill(messages.get(number), one)
          rows(number) = one
          number += 1
        }
        row.update(index, new GenericArrayData(rows))
      }
  }

  override protected def withNewChildInternal(child: Expression): OfProtobuf = copy(child = child)
}

case class AsProtobuf(child: Expression) extends OneColumn {
  override def dataType: DataType = BinaryType
  @transient private lazy val struct = child.dataType.asInstanceOf[StructType]
  @transient private lazy val descriptor = Shape.descriptor(struct)

  override def of(input: Any): Any = message(descriptor, struct, input.asInstanceOf[InternalRow]).toByteArray

  private def message(descriptor: Descriptor, struct: StructType, row: InternalRow): DynamicMessage = {
    val made = DynamicMessage.newBuilder(descriptor)
    for ((column, index) <- struct.fields.zipWithIndex if !row.isNullAt(index)) {
      val field = descriptor.findFieldByName(column.name)
      column.dataType match {
        case StringType  => made.setField(field, row.getUTF8String(index).toString)
        case IntegerType => made.setField(field, row.getInt(index))
        case LongType    => made.setField(field, row.getLong(index))
        case ArrayType(inner: StructType, _) =>
          val array: ArrayData = row.getArray(index)
          for (number <- 0 until array.numElements())
            made.addRepeatedField(field, message(field.getMessageType, inner, array.getStruct(number, inner.length)))
      }
    }
    made.build
  }

  override protected def withNewChildInternal(child: Expression): AsProtobuf = copy(child = child)
}
