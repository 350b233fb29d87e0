/**
 * Lets expect(...).toEqual compare typed arrays by their bytes. vitest itself visits every element, which takes a second for a
 * picture of 256x256. Where the bytes differ, its own comparison decides and shows the difference.
 */
import { expect } from 'vitest';

type TypedArray = Uint8Array | Float32Array | Float64Array | Int32Array | BigInt64Array;

const isTypedArray = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

const bytesOf = ({ buffer, byteOffset, byteLength }: TypedArray): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

function haveEqualBytes(a: unknown, b: unknown): true | undefined {
  if (!isTypedArray(a) || !isTypedArray(b) || a.constructor !== b.constructor) return;
  return bytesOf(a).equals(bytesOf(b)) || undefined;
}

// Each file runs this, also those that share a process.
const shared = globalThis as { comparesBytes?: true };
if (!shared.comparesBytes) expect.addEqualityTesters([haveEqualBytes]);
shared.comparesBytes = true;
