/** What sentence-transformers keeps beside a model: how the vectors of the tokens become one vector. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../../folder/config-file.ts';
import type { Pooling } from '../pooling.ts';

const ModulesSchema = z.array(z.looseObject({ type: z.string(), path: z.string() }));

/** The fields of a pooling config, and the pooling that each turns on; in the order in which sentence-transformers joins them. */
const FIELDS = [
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['pooling_mode_mean_sqrt_len_tokens', 'mean-sqrt'],
  ['pooling_mode_weightedmean_tokens', 'weighted'],
  ['pooling_mode_lasttoken', 'last'],
] as const satisfies readonly (readonly [string, Pooling])[];

const PoolingSchema = z.looseObject(
  Object.fromEntries(FIELDS.map(([field]) => [field, z.boolean().nullish()])),
);

interface SentenceConfig {
  readonly poolings: readonly Pooling[];
  readonly normalizes: boolean;
  /** Whether the folder has none of these files. */
  readonly isPlain: boolean;
}

/** A folder without `modules.json` is a plain encoder: the mean of its tokens is the usual choice. */
const PLAIN: SentenceConfig = { poolings: ['mean'], normalizes: false, isPlain: true };

/**
 * Reads `modules.json` and the pooling folder that it names. `isPooled`: the graph has the modules inside. Throws LehrError
 * `model-unavailable` for a module that Lehr does not have, such as a dense layer outside the graph.
 */
export async function readSentenceConfig(folder: string, isPooled: boolean): Promise<SentenceConfig> {
  const path = join(folder, 'modules.json');
  if (!existsSync(path)) return PLAIN;
  let { poolings, normalizes } = PLAIN;
  for (const { type, path: name } of await readConfigFile(path, ModulesSchema)) {
    const kind = type.split('.').at(-1);
    if (kind === 'Transformer' || (isPooled && kind !== 'Normalize')) continue;
    if (kind === 'Normalize') normalizes = true;
    else if (kind === 'Pooling') poolings = await readPooling(folder, name);
    else throw unusable(path, `the module ${type} would have to be part of the graph`);
  }
  return { poolings, normalizes, isPlain: false };
}

async function readPooling(folder: string, name: string): Promise<Pooling[]> {
  // The name comes from a file that may have been fetched.
  if (!/^[A-Za-z0-9_]{1,64}$/.test(name))
    throw unusable(join(folder, 'modules.json'), `${name} is no folder name`);
  const path = join(folder, name, 'config.json');
  const config = await readConfigFile(path, PoolingSchema);
  const poolings = FIELDS.flatMap(([field, pooling]) => (config[field] === true ? [pooling] : []));
  if (poolings.length === 0) throw unusable(path, 'it turns no pooling on that Lehr has');
  return poolings;
}

const unusable = (path: string, problem: string): LehrError =>
  new LehrError('model-unavailable', `${path} cannot be used: ${problem}.`);

interface SentenceTextOptions {
  readonly strips: boolean;
  readonly lowerCases: boolean;
}

/** What Python's `str.isspace` is true for. JavaScript's `trim` differs: it removes U+FEFF, and leaves U+001C to U+001F and U+0085. */
const isBlank = (character: string): boolean =>
  (character !== '\ufeff' && /\s/.test(character)) || '\u001c\u001d\u001e\u001f\u0085'.includes(character);

/** What sentence-transformers does with a text before its tokenizer gets it. */
export function prepareSentence(text: string, { strips, lowerCases }: SentenceTextOptions): string {
  const stripped = strips ? strip(text) : text;
  return lowerCases ? stripped.toLowerCase() : stripped;
}

/** In linear time: an expression for the blanks at the end would begin again at every blank inside the text. */
function strip(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isBlank(text[from])) from += 1;
  while (to > from && isBlank(text[to - 1])) to -= 1;
  return text.slice(from, to);
}
