/** A file of weights that someone has trained: what it holds, before any of its values is read. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import {
  type ByteSource,
  openFileSource,
  readSafetensors,
  type SafeTensor,
  SafetensorsError,
} from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';

export interface WeightsFile {
  readonly path: string;
  readonly source: ByteSource;
  /** By the names that the file gives them. */
  readonly tensors: ReadonlyMap<string, SafeTensor>;
  readonly metadata: Readonly<Record<string, string>>;
  close(): void;
}

/** `predicate` says in one sentence what is wrong with the file. */
export const refusedFile = (path: string, predicate: string): LehrError =>
  new LehrError('invalid-request', `${basename(path)} ${inOneLine(predicate)}.`);

const MOST_LETTERS = 500;

/** It may contain names that the file gives its tensors, which have any letters and any length. */
const inOneLine = (text: string): string => {
  const line = text
    .replace(/[\p{Cc}\u2028\u2029]/gu, '�')
    .replace(/\S{160,}/gu, (name) => `${name.slice(0, 80)}…`);
  return line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS)}…` : line;
};

/** Throws LehrError `invalid-request` for what is no safetensors file with the weights of a model. */
export function openWeightsFile(path: string): WeightsFile {
  const file = openSafetensors(path);
  if (![...file.tensors.keys()].some((name) => ADAPTER.test(name))) return file;
  file.close();
  throw refusedFile(
    path,
    'is an adapter (LoRA), which changes a model and is none by itself; lehr models import FILE --adapter-of MODEL gives it to one',
  );
}

/** Throws LehrError `invalid-request` for what is no safetensors file. */
export function openSafetensors(path: string): WeightsFile {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw refusedFile(path, 'is not a file');
  const source = openFileSource(path);
  try {
    const kind = otherKind(source);
    if (kind !== undefined) throw refusedFile(path, kind);
    return { path, source, ...readSafetensors(source), close: source.close };
  } catch (error) {
    source.close();
    throw error instanceof SafetensorsError ? refusedFile(path, error.message) : error;
  }
}

const ADAPTER = /[._](?:lora_(?:up|down|A|B|mid)|hada_w1_a|lokr_w1|oft_diag|lora_magnitude_vector)(?:[._]|$)/;

/** How files of other formats begin. */
const BEGINNINGS: readonly (readonly [bytes: string, predicate: string])[] = [
  // A zip archive, as torch writes since 1.6, and the protocols 2 to 5 of pickle.
  ...['PK\x03\x04', '\x80\x02', '\x80\x03', '\x80\x04', '\x80\x05'].map(
    (bytes) =>
      [
        bytes,
        'is a pickle (.ckpt, .pt, .bin), which can run any program when it is opened, so Lehr opens none; get the model as .safetensors',
      ] as const,
  ),
  ['GGUF', 'is a GGUF file, and Lehr reads safetensors alone'],
  ['version https://git-lfs', 'is a pointer of git-lfs; "git lfs pull" fetches the file itself'],
  ['<', 'is a page of the web, not a file of weights'],
];

/** Two bytes of a pickle may be a length of safetensors as well: its header follows there. */
function otherKind(source: ByteSource): string | undefined {
  const start = Buffer.alloc(Math.min(source.length, 64));
  source.readInto(start, 0);
  const text = start.toString('latin1');
  if (text[8] === '{') return undefined;
  return BEGINNINGS.find(([bytes]) => text.startsWith(bytes))?.[1];
}
