/**
 * How strongly the layers of a LoRA act that have no alpha of their own. PEFT writes its LoraConfig into a file beside the matrices, and diffusers
 * into the metadata of the file, with a prefix for each part (`unet.lora_alpha`). What says another strength than Lehr understands is
 * refused: with another one, the file would draw something else than its author has seen.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { refusedFile, type WeightsFile } from '../weights/weights-file.ts';
import type { AdapterPart } from './adapter-names.ts';

interface Layer {
  readonly part: AdapterPart;
  /** As the file names it, with dots. */
  readonly written: string;
  readonly rank: number;
}

/** What a product of the two matrices is multiplied with: alpha / rank, as it was trained. */
export type FactorOf = (layer: Layer) => number;

const BESIDE = 'adapter_config.json';
const IN_FILE = 'its metadata';
/** Of a LoraConfig that names none. */
const DEFAULT_ALPHA = 8;
/** A name of a module, or its last parts. PEFT takes regular expressions, too. */
const PLAIN_NAME = /^[\w.]+$/;

type Fields = Readonly<Record<string, unknown>>;

/** Throws LehrError `invalid-request` for what cannot be understood. */
export function trainedStrength(file: WeightsFile): FactorOf {
  const { path, tensors, metadata } = file;
  const ofFile = metadata.lora_adapter_metadata;
  const inFile = ofFile === undefined ? {} : objectIn(ofFile, path, IN_FILE);
  const isPeft = [...tensors.keys()].some((name) => name.startsWith('base_model.model.'));
  const beside = isPeft ? configBeside(path) : {};
  const known = new Map<AdapterPart, FactorOf>();
  const factorIn = (part: AdapterPart): FactorOf => {
    const own = fieldsOf(part, inFile);
    const where = Object.keys(own).length > 0 ? IN_FILE : BESIDE;
    return factorBy({ ...beside, ...own }, path, where);
  };
  return (layer) => {
    const { part } = layer;
    const factorOf = known.get(part) ?? factorIn(part);
    known.set(part, factorOf);
    return factorOf(layer);
  };
}

/** A file of one part may have them without the prefix. */
const fieldsOf = (part: AdapterPart, inFile: Fields): Fields =>
  Object.fromEntries(
    Object.entries(inFile).flatMap(([key, value]) => {
      if (key.startsWith(`${part}.`)) return [[key.slice(part.length + 1), value] as const];
      return key.includes('.') ? [] : [[key, value] as const];
    }),
  );

function configBeside(path: string): Fields {
  const beside = join(dirname(path), BESIDE);
  const found = statSync(beside, { throwIfNoEntry: false });
  if (!found) return {};
  return objectIn(found.isFile() ? readFileSync(beside, 'utf8') : '', path, BESIDE);
}

function objectIn(json: string, path: string, where: string): Fields {
  const value = jsonOf(json);
  if (isObject(value)) return value;
  throw refusedFile(path, `has no JSON object in ${where}, which says how strong it is`);
}

function jsonOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function factorBy(fields: Fields, path: string, where: string): FactorOf {
  const {
    lora_alpha: alpha,
    alpha_pattern: pattern,
    use_rslora: isRankStabilized,
    use_dora: isDora,
  } = fields;
  const refused = (name: string, wanted: string) =>
    refusedFile(path, `has ${name} ${JSON.stringify(fields[name])} in ${where}, expected ${wanted}`);
  if (isDora === true) throw refusedFile(path, 'is a DoRA; Lehr takes LoRA and LoCon');
  if (!isAbsent(alpha) && !Number.isFinite(alpha)) throw refused('lora_alpha', 'a number');
  const patterns = isAbsent(pattern) ? [] : patternsIn(pattern);
  if (!patterns) throw refused('alpha_pattern', 'names and numbers');
  const others = Object.keys(fields).length > 0 ? Number(alpha ?? DEFAULT_ALPHA) : undefined;
  return ({ written, rank }) => {
    const own = patterns.find(([name]) => `.${written}`.endsWith(`.${name}`))?.[1] ?? others ?? rank;
    return own / (isRankStabilized === true ? Math.sqrt(rank) : rank);
  };
}

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

function patternsIn(pattern: unknown): (readonly [name: string, alpha: number])[] | undefined {
  if (!isObject(pattern)) return undefined;
  const entries = Object.entries(pattern).map(([name, alpha]) => [name, Number(alpha)] as const);
  const isPlain = entries.every(([name]) => PLAIN_NAME.test(name) && Number.isFinite(pattern[name]));
  return isPlain ? entries : undefined;
}
