/** The models of lab/real/text: real exports with random weights, and what transformers computes with them in torch. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';

const FIXTURES = new URL('../../lab/real/text/fixtures/', import.meta.url).pathname;

export interface EncodedCase {
  readonly text: string;
  readonly pair?: string;
  readonly truncated: boolean;
  readonly ids: readonly number[];
  readonly type_ids?: readonly number[] | null;
}

/** Unpacks a fixture into a folder, its graphs below `graphs`. */
export const unpackTextFixture = (name: string, folder: string, graphs: '' | 'onnx' = ''): void =>
  unpackFixture(join(FIXTURES, name), folder, graphs);

/** Of any task. */
export function unpackFixture(source: string, folder: string, graphs: '' | 'onnx' = ''): void {
  for (const file of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!file.isFile() || file.name === 'expected.json') continue;
    const path = join(file.parentPath, file.name);
    const isGraph = file.name.endsWith('.onnx.gz');
    const target = join(folder, isGraph ? graphs : '', relative(source, path)).replace(/\.gz$/, '');
    mkdirSync(dirname(target), { recursive: true });
    const bytes = readFileSync(path);
    writeFileSync(target, path.endsWith('.gz') ? gunzipSync(bytes) : bytes);
  }
}

export interface Expected<Case> {
  readonly encoded: readonly EncodedCase[];
  readonly cases: readonly Case[];
  /** Of the fixture whose texts sentence-transformers lower-cases: its ids and its normalized vectors. */
  readonly sentences?: readonly {
    readonly text: string;
    readonly ids: readonly number[];
    readonly vector: readonly number[];
  }[];
  /** Of the fixture that has an int8 graph. */
  readonly quantized?: readonly { readonly text: string; readonly logits: readonly number[] }[];
}

/** `Case` is what the recipe records for the task of this fixture. */
export const expectedOf = <Case>(name: string): Expected<Case> =>
  JSON.parse(readFileSync(join(FIXTURES, name, 'expected.json'), 'utf8'));

export const TEXT_FIXTURES = readdirSync(FIXTURES);
