import { expect, test } from 'vitest';
import { memorySource } from './byte-source.ts';
import { bfloat16ToFloat32, readSafetensors, SafetensorsError, safetensorsHeader } from './safetensors.ts';

const read = (bytes: Uint8Array) => readSafetensors(memorySource(bytes));

/** A file with this header, as text or as what JSON makes of it, and so many bytes of values. */
function file(header: unknown, valueBytes = 0, claimed?: bigint): Uint8Array {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(claimed ?? BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(valueBytes)]);
}
const f32 = (shape: unknown, offsets: unknown) => ({ dtype: 'F32', shape, data_offsets: offsets });

test('A file that was written is read with the place of each tensor, its type, its shape and the metadata', () => {
  const tensors = [
    { name: 'a.weight', dtype: 'F16', shape: [2, 3] },
    { name: '__proto__', dtype: 'F32', shape: [] },
    { name: 'none', dtype: 'I64', shape: [0, 5] },
  ] as const;
  const header = safetensorsHeader(tensors, { format: 'pt' });
  expect(header.length % 8).toBe(0);
  const found = read(Buffer.concat([header, Buffer.alloc(16)]));
  expect(found.metadata).toEqual({ format: 'pt' });
  expect([...found.tensors.values()]).toEqual([
    { ...tensors[0], offset: header.length, length: 12 },
    { ...tensors[1], offset: header.length + 12, length: 4 },
    { ...tensors[2], offset: header.length + 16, length: 0 },
  ]);
});

test.each<[what: string, bytes: Uint8Array, message: string]>([
  ['an empty file', Buffer.alloc(0), 'is too short'],
  ['a header longer than the file', file('{}', 0, 2n ** 63n), 'ends before its header does'],
  ['a header that is cut off', file(`{"a":`), 'has no header of safetensors'],
  ['a header of another kind', file('[1, 2]'), 'has no header of safetensors'],
  ['nesting without end', file('['.repeat(1_000_000)), 'has no header of safetensors'],
  ['text that is no UTF-8', file('{"a\xff": 1}').fill(0xff, 11, 12), 'has no header of safetensors'],
  ['a tensor that is a number', file({ a: 7 }), 'a tensor "a" of the unknown type undefined'],
  [
    'an unknown type',
    file({ a: { dtype: 'toString', shape: [1], data_offsets: [0, 4] } }, 4),
    'of the unknown type "toString"',
  ],
  ['a negative size', file({ a: f32([-1, -1], [0, 4]) }, 4), 'shape is not a list of sizes'],
  ['a size that is no number', file({ a: f32(['1'], [0, 4]) }, 4), 'shape is not a list of sizes'],
  ['a fraction', file({ a: f32([0.5], [0, 2]) }, 2), 'shape is not a list of sizes'],
  ['a place before the file', file({ a: f32([1], [-4, 0]) }, 4), 'without a place'],
  ['a place without an end', file({ a: f32([1], [0]) }, 4), 'without a place'],
  ['an end before the start', file({ a: f32([1], [4, 0]) }, 4), 'does not fit its place'],
  ['a product that overflows', file({ a: f32([2 ** 40, 2 ** 40, 0.25 * 2 ** 2], [0, 0]) }), 'does not fit'],
  ['a product that overflows to its place', file({ a: f32([2 ** 51 + 1, 1], [0, 2 ** 53]) }), 'place'],
  ['a larger shape than place', file({ a: f32([2], [0, 4]) }, 4), 'does not fit its place'],
  ['values beyond the end', file({ a: f32([100], [0, 400]) }, 4), 'ends 396 bytes too early'],
  ['values of two tensors', file({ a: f32([2], [0, 8]), b: f32([1], [4, 8]) }, 8), '"b" that overlaps'],
  [
    'the same name twice',
    file(
      '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}',
      2,
    ),
    'leaves a gap',
  ],
  ['bytes between tensors', file({ a: f32([1], [4, 8]) }, 8), '"a" that leaves a gap'],
  ['bytes after the last tensor', file({ a: f32([1], [0, 4]) }, 9), 'has 5 bytes that belong to no tensor'],
  ['metadata that is no text', file({ __metadata__: { a: 1 } }), 'has metadata that are not texts'],
])('A file with %s is refused', (_, bytes, message) => {
  expect(() => read(bytes)).toThrow(SafetensorsError);
  expect(() => read(bytes)).toThrow(message);
});

test('A header is not read when it is longer than the caller allows', () => {
  const bytes = file({ a: f32([1], [0, 4]) }, 4);
  expect(() => readSafetensors(memorySource(bytes), 10)).toThrow('and at most 10 are read');
});

test('A header with any bytes changed is read, or refused, and never fails otherwise', () => {
  const tensors = ['a', 'b', 'c'].map((name) => ({ name, dtype: 'F32', shape: [2, 3] }) as const);
  const whole = Buffer.concat([safetensorsHeader(tensors), Buffer.alloc(72)]);
  let state = 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 3000; round += 1) {
    const changed = Buffer.from(whole.subarray(0, random(4) === 0 ? random(whole.length) : whole.length));
    for (let i = random(4); i >= 0 && changed.length > 0; i -= 1)
      changed[random(changed.length)] = random(256);
    try {
      for (const { offset, length } of read(changed).tensors.values())
        expect(offset + length).toBeLessThanOrEqual(changed.length);
    } catch (error) {
      expect(error).toBeInstanceOf(SafetensorsError);
    }
  }
});

test('A bfloat16 becomes the float32 of which it is the upper half', () => {
  expect([...bfloat16ToFloat32(Uint16Array.of(0x3f80, 0xc000, 0x7f80, 0))]).toEqual([1, -2, Infinity, 0]);
});
