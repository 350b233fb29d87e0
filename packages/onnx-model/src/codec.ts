/** Encodes and decodes ONNX messages with protobufjs and the table in schema.ts. The only file that imports protobufjs. */
import protobuf from 'protobufjs/light.js';
import { type Message, type MessageName, SCHEMA } from './schema.ts';

const types = buildTypes();

function buildTypes(): ReadonlyMap<string, protobuf.Type> {
  const root = new protobuf.Root();
  const built = new Map<string, protobuf.Type>();
  for (const [name, fields] of Object.entries(SCHEMA)) {
    const type = new protobuf.Type(name);
    for (const [field, line] of Object.entries(fields)) type.add(buildField(field, line));
    root.add(type);
    built.set(name, type);
  }
  return built;
}

function buildField(name: string, line: string): protobuf.Field {
  const [kind, id, packed] = line.split(' ');
  const repeated = kind.endsWith('[]');
  const type = repeated ? kind.slice(0, -2) : kind;
  // Proto2 packs a repeated number only where the .proto file says so; by default protobufjs packs all of them.
  const options = { packed: packed !== undefined };
  return new protobuf.Field(name, Number(id), type, repeated ? 'repeated' : 'optional', undefined, options);
}

function typeOf(name: MessageName): protobuf.Type {
  const type = types.get(name);
  if (!type) throw new Error(`No ONNX message ${name}. This is a bug in Lehr.`);
  return type;
}

/**
 * Decodes one message. Byte fields are views into `bytes`, not copies. Fields that are not in the table are kept, and
 * `encode` writes them again. Throws when the bytes are not such a message.
 */
export function decode<Name extends MessageName>(name: Name, bytes: Uint8Array): Message<Name> {
  const reader = protobuf.Reader.create(bytes);
  reader.discardUnknown = false;
  return typeOf(name).decode(reader) as unknown as Message<Name>;
}

export function encode<Name extends MessageName>(name: Name, message: Message<Name>): Uint8Array {
  return typeOf(name).encode(message).finish();
}

/** The tag and the length before an embedded message of `length` bytes. */
export function encodeHeader(fieldId: number, length: number): Uint8Array {
  return protobuf.Writer.create()
    .uint32((fieldId << 3) | 2)
    .uint32(length)
    .finish();
}
