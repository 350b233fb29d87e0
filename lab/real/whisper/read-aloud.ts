/** Five sentences of a novel that a person reads aloud (LibriVox), 24 s in all: recordings of Debian's package `pocketsphinx-testdata`. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = '/usr/share/pocketsphinx/test/data/librivox';
/** A line of the transcription: the words in the marks of a sentence, and the name of the recording. */
const LINE = /^<s> (?<text>.+) <\/s> \((?<name>.+)\)$/;

export interface ReadSentence {
  readonly name: string;
  readonly text: string;
  /** A 16-bit mono WAV of 16 kHz. */
  readonly bytes: Uint8Array;
}

/** Throws when the package is not installed. */
export async function readAloud(): Promise<ReadSentence[]> {
  if (!existsSync(FOLDER)) {
    throw new Error('Recordings are missing: apt-get install pocketsphinx-testdata');
  }
  const lines = (await readFile(join(FOLDER, 'transcription'), 'utf8')).trim().split('\n');
  return Promise.all(lines.map(sentenceOf));
}

async function sentenceOf(line: string): Promise<ReadSentence> {
  const { text, name } = LINE.exec(line)?.groups ?? {};
  if (text === undefined) throw new Error(`'${line}' is no line of the transcription.`);
  return { name, text, bytes: new Uint8Array(await readFile(join(FOLDER, `${name}.wav`))) };
}
