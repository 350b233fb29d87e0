import { expect, test } from 'vitest';
import {
  type ByteSource,
  DATA_TYPE,
  decode,
  EXTERNAL,
  encode,
  type ModelProto,
  memorySource,
  readStoredModel,
  toNumber,
  writeStoredModel,
} from './index.ts';

/**
 * Written by the Python package onnx 1.23.1: a Slice whose end is INT64_MAX, attributes that equal their defaults, a
 * subgraph, every kind of tensor data, external data, and at the end an unknown field 99.
 */
const FROM_PYTHON = Buffer.from(
  'CA46+QMKPgoBeBIBeSIFU2xpY2UqCwoEYXhlc0AAoAEHKhMKBGVuZHNA//////////9/oAEHKg0KBnN0YXJ0c0AAoAEHCiIK' +
    'AXkSAXoiCUxlYWt5UmVsdSoPCgVhbHBoYRUAAAAAoAEBCq4BCgF6EgF3IgNGb28qEQoCZmw9AADAPz0AACBAoAEGKiwKAWcy' +
    'JAoQCgF6EgFxIghJZGVudGl0eRIDc3ViYgsKAXESBgoECAESAKABBSoICgFpGACgAQIqEwoDbmVnGPv//////////wGgAQIq' +
    'CAoBcyIAoAEDKgwKAnN0SgFhSgCgAQgqJgoBdCoeCAMQB0oYAAAAAAAAAAABAAAAAAAAAAIAAAAAAAAAoAEEOgFkEgFnKhUI' +
    'AxABIgwAAIA/AAAAQAAAQEBCAWYqHAgCEAc6E////////////wH//////////39CAWkqEwgBEA1CAXVaCv///////////wEq' +
    'EQgBEAtCAWRSCAAAAAAAAPQ/KgwIARAIMgJoaUICc3QqQggECAQQCkIDcmF3SiAAPAA8ADwAPAA8ADwAPAA8ADwAPAA8ADwA' +
    'PAA8ADwAPGoRCghsb2NhdGlvbhIFdy5iaW5wAVoYCgF4EhMKEQgBEg0KBxIFYmF0Y2gKAggDWgsKAXMSBgoECAcSAGIJCgF3' +
    'EgQKAggBQgQKABAJQgUKAWQQAXIFCgFrEgCaBgNhYmM=',
  'base64',
);

const WEIGHT_BYTES = 64 * 1024;

function modelWithWeights(): ModelProto {
  const weight = (name: string, fill: number) => ({
    name,
    dims: [WEIGHT_BYTES / 4],
    dataType: DATA_TYPE.float32,
    rawData: new Uint8Array(WEIGHT_BYTES).fill(fill),
  });
  return {
    irVersion: 8,
    opsetImport: [{ domain: '', version: 14 }],
    graph: {
      name: 'main',
      node: [{ opType: 'Identity', input: ['x'], output: ['y'], name: 'first' }],
      input: [{ name: 'x' }],
      output: [{ name: 'y' }],
      initializer: [
        weight('large', 1),
        { name: 'axes', dims: [1], dataType: DATA_TYPE.int64, int64Data: [0] },
        weight('larger', 2),
      ],
    },
  };
}

function countReads(source: ByteSource): { source: ByteSource; bytes: () => number } {
  let bytes = 0;
  return {
    bytes: () => bytes,
    source: {
      length: source.length,
      readInto(target, offset) {
        bytes += target.byteLength;
        source.readInto(target, offset);
      },
    },
  };
}

test('A model of another writer is written back byte for byte, unknown fields and INT64_MAX included', () => {
  const model = decode('ModelProto', FROM_PYTHON);
  expect(model.graph?.node?.[0].opType).toBe('Slice');
  expect(Buffer.compare(encode('ModelProto', model), FROM_PYTHON)).toBe(0);
});

test('A stored model that is written again has the same content', () => {
  const source = memorySource(FROM_PYTHON);
  const written = writeStoredModel(readStoredModel(source), source, 'model.onnx');
  const content = (bytes: Uint8Array) => encode('ModelProto', decode('ModelProto', bytes));
  expect(Buffer.compare(content(written), content(FROM_PYTHON))).toBe(0);
});

test('Neither reading a stored model nor writing it reads the weights', () => {
  const bytes = encode('ModelProto', modelWithWeights());
  const counted = countReads(memorySource(bytes));
  const stored = readStoredModel(counted.source);
  expect(stored.initializers.map(({ tensor }) => tensor.name)).toEqual(['large', 'axes', 'larger']);
  expect(toNumber(stored.initializers[1].tensor.int64Data?.[0])).toBe(0);
  expect(stored.initializers[0].tensor.rawData ?? []).toHaveLength(0);

  const before = counted.bytes();
  const written = writeStoredModel(stored, counted.source, 'model.onnx');
  expect(counted.bytes() - before).toBeLessThan(100);
  expect(written.byteLength).toBeLessThan(1000);
});

test('An edited graph refers to the weights in the file that it was read from', () => {
  const bytes = encode('ModelProto', modelWithWeights());
  const source = memorySource(bytes);
  const { model, graph, initializers } = readStoredModel(source);
  const renamed = { ...graph, node: [{ opType: 'Neg', input: ['x'], output: ['y'] }] };
  const stored = { model, graph: renamed, initializers: initializers.slice(1) };

  const edited = decode('ModelProto', writeStoredModel(stored, source, 'unet.onnx'));
  expect(edited.graph?.node?.map((node) => node.opType)).toEqual(['Neg']);
  const [axes, larger] = edited.graph?.initializer ?? [];
  expect(axes.dataLocation).not.toBe(EXTERNAL);
  expect(toNumber(axes.int64Data?.[0])).toBe(0);
  expect(larger).toMatchObject({ name: 'larger', dataLocation: EXTERNAL });
  expect(larger.dims?.map(toNumber)).toEqual([WEIGHT_BYTES / 4]);
  const place = Object.fromEntries((larger.externalData ?? []).map(({ key, value }) => [key, value]));
  expect(place).toEqual({ location: 'unet.onnx', offset: expect.any(String), length: `${WEIGHT_BYTES}` });
  const offset = Number(place.offset);
  expect(bytes.subarray(offset, offset + WEIGHT_BYTES).every((byte) => byte === 2)).toBe(true);
});

test('Without a name for the file, the weights are copied', () => {
  const bytes = encode('ModelProto', modelWithWeights());
  const source = memorySource(bytes);
  const written = decode('ModelProto', writeStoredModel(readStoredModel(source), source));
  expect(Buffer.compare(encode('ModelProto', written), bytes)).toBe(0);
});

test('Bytes that are not a model are refused', () => {
  expect(() => readStoredModel(memorySource(Buffer.from('not a model')))).toThrow();
  expect(() => readStoredModel(memorySource(FROM_PYTHON.subarray(0, 200)))).toThrow(/ends/);
  expect(() => readStoredModel(memorySource(new Uint8Array(0)))).toThrow('found 0');
});
