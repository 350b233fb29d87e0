/** The file of a LoRA: which modules it changes, and how, before its matrices are read. */
import type { ByteSource, SafeTensor } from '@lehr/onnx-model';
import { floatsIn, ValuesError } from '../weights/weight-values.ts';
import { openSafetensors, refusedFile, type WeightsFile } from '../weights/weights-file.ts';
import { type AdapterPart, otherKind, readTensorName } from './adapter-names.ts';
import { type FactorOf, trainedStrength } from './trained-strength.ts';

/** What is added to one module: factor * up * down. */
export interface LowRank {
  readonly part: AdapterPart;
  /** As `moduleKey` gives it. */
  readonly module: string;
  /** [rank, inputs], of a convolution [rank, inputs, height, width]. */
  readonly down: SafeTensor;
  /** [outputs, rank], of a convolution [outputs, rank, 1, 1]. */
  readonly up: SafeTensor;
  readonly rank: number;
  /** alpha / rank, as it was trained. */
  readonly factor: number;
}

export interface AdapterFile {
  readonly path: string;
  readonly source: ByteSource;
  readonly modules: readonly LowRank[];
  /** Names of tensors that no layout knows. */
  readonly unknown: readonly string[];
  /** The largest of its modules. */
  readonly rank: number;
  close(): void;
}

/** `layersPerBlock` is that of the UNet. Throws LehrError `invalid-request` for what is no LoRA, with the reason. */
export function readAdapter(path: string, layersPerBlock: number): AdapterFile {
  const file = openSafetensors(path);
  try {
    return adapterIn(file, layersPerBlock);
  } catch (error) {
    file.close();
    throw error instanceof ValuesError ? refusedFile(path, error.message) : error;
  }
}

interface Found {
  readonly part: AdapterPart;
  readonly module: string;
  /** As the file names the module, without its ending. */
  readonly written: string;
  down?: SafeTensor;
  up?: SafeTensor;
  alpha?: SafeTensor;
}

function adapterIn(file: WeightsFile, layersPerBlock: number): AdapterFile {
  const { path, source, tensors, close } = file;
  const kinds = [...tensors.keys()].flatMap((name) => otherKind(name) ?? []);
  if (kinds.length > 0) throw refusedFile(path, `is ${kinds[0]}; Lehr takes LoRA and LoCon`);
  const found = new Map<string, Found>();
  const unknown: string[] = [];
  for (const [full, tensor] of tensors) {
    const name = readTensorName(full, layersPerBlock);
    if (!name) {
      unknown.push(full);
      continue;
    }
    const key = `${name.part}/${name.module}`;
    const known = found.get(key) ?? {
      ...name,
      written: full.replace(/\.lora.*$|_lora\..*$/, '').replace('.processor.', '.'),
    };
    if (known[name.role]) throw refusedFile(path, `has two tensors for ${name.role} of ${known.written}`);
    known[name.role] = tensor;
    found.set(key, known);
  }
  const factorOf = trainedStrength(file);
  const modules = [...found.values()].map((each) => lowRank(each, file, factorOf));
  if (modules.length === 0) throw refusedFile(path, nothingIn(unknown));
  return { path, source, modules, unknown, rank: largestRank(modules), close };
}

/** A file may have more modules than a call may have arguments. */
const largestRank = (modules: readonly LowRank[]): number =>
  modules.reduce((largest, { rank }) => Math.max(largest, rank), 0);

function nothingIn(names: readonly string[]): string {
  const first = names.slice(0, 3).map((name) => JSON.stringify(name.slice(0, 80)));
  return `is no LoRA: it begins with ${first.join(', ') || 'nothing'}`;
}

function lowRank(
  { part, module, written, down, up, alpha }: Found,
  { path, source }: WeightsFile,
  factorOf: FactorOf,
): LowRank {
  if (!down || !up) {
    const lacking = [down ? '' : 'down (A)', up ? '' : 'up (B)'].filter((each) => each !== '');
    throw refusedFile(path, `lacks ${lacking.join(' and ')} of ${written}`);
  }
  const [rank] = down.shape;
  const isShaped = [down, up].every(({ shape }) => shape.length === 2 || shape.length === 4);
  if (!isShaped || rank < 1 || up.shape[1] !== rank || up.shape.slice(2).some((size) => size !== 1)) {
    const shapes = [down, up].map(({ name, shape }) => `${name} of ${shape.join(' x ')}`);
    throw refusedFile(path, `has ${shapes.join(' and ')}, which are no pair of a LoRA`);
  }
  if (!alpha) return { part, module, down, up, rank, factor: factorOf({ part, written, rank }) };
  if (alpha.shape.some((size) => size !== 1)) throw refusedFile(path, `has a list in ${alpha.name}`);
  return { part, module, down, up, rank, factor: floatsIn(source, alpha)[0] / rank };
}
