"""Decodes messages of Protocol Buffers. Each line of the input is a JSON object with the type, and with the type's
FileDescriptorSet and the message in base64. For each message it prints a list of texts: the values of all fields, also
of unset ones, in the order of the descriptor. A list begins with its length."""

import base64
import json
import math
import struct
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def values(field, value):
    if field.message_type:
        for inner in field.message_type.fields:
            yield from all_values(inner, getattr(value, inner.name))
    elif field.type == field.TYPE_BYTES:
        yield f"[{len(value)}]"
        yield from map(str, value)
    elif field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
        yield "nan" if math.isnan(value) else struct.pack(">d", value).hex()
    elif field.cpp_type == field.CPPTYPE_STRING:
        yield value
    else:
        yield str(int(value))


def all_values(field, value):
    if field.label != field.LABEL_REPEATED:
        yield from values(field, value)
        return
    yield f"[{len(value)}]"
    for element in value:
        yield from values(field, element)


for line in sys.stdin:
    case = json.loads(line)
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(case["set"]))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName(case["type"])
    message = message_factory.MessageFactory(pool).GetPrototype(descriptor)()
    message.ParseFromString(base64.b64decode(case["data"]))
    print(json.dumps([text for field in descriptor.fields for text in all_values(field, getattr(message, field.name))]))
