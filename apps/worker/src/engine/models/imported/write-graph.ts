/** Writes a graph with the weights of a file in place of its own, one weight in memory at a time. */
import { existsSync } from 'node:fs';
import { type FileHandle, open, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type ByteSource,
  EXTERNAL,
  type GraphProto,
  type NodeProto,
  type StoredModel,
  type StoredTensor,
  type TensorProto,
  writeStoredModel,
} from '@lehr/onnx-model';
import { storedWeight, weightOf } from '../converted/weights.ts';
import { shapeOf } from '../weights/layouts.ts';
import type { FilledPlace } from './match-weights.ts';

/** Values of at most so many bytes are in the graph itself, where what rewrites graphs looks for them. */
const MAX_INLINE_BYTES = 4096;
/** Constants of the base of at most so many bytes are copied out of the files of its weights. */
const MAX_COPIED_BYTES = 1 << 20;
/** ONNX Runtime maps weights that begin at a page into memory, and copies others. */
const PAGE_BYTES = 4096;

export interface GraphToWrite {
  /** The graph of the base. */
  readonly base: string;
  readonly stored: StoredModel;
  /** Its bytes. */
  readonly source: ByteSource;
  readonly filled: readonly FilledPlace[];
  readonly valuesOf: ValuesOf;
}

/** The new values of a place, in the type that the graph has there. */
export type ValuesOf = (filled: FilledPlace, graph: Pick<GraphToWrite, 'base' | 'source'>) => Uint8Array;

/**
 * Writes the graph to `path` and its weights beside it, and returns the bytes that it wrote. Returns undefined, and leaves no file, when all weights are those of the base.
 * Throws what the file system and `valuesOf` throw.
 */
export async function writeGraph(
  graph: GraphToWrite,
  path: string,
  onWeight: (bytes: number) => void,
): Promise<number | undefined> {
  const location = dataName(graph.base);
  const data = join(dirname(path), location);
  const file = await open(data, 'wx');
  const tensors = new Map<string, TensorProto>();
  const writer = { file, location, end: 0 };
  let isSame = true;
  try {
    for (const each of graph.filled) {
      const name = initializerName(each);
      if (tensors.has(name)) continue;
      const values = graph.valuesOf(each, graph);
      const { stored } = each.place;
      isSame &&= isEqual(values, stored, graph);
      tensors.set(name, await written(name, stored.tensor, values, writer));
      onWeight(values.byteLength);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (isSame || writer.end === 0) await rm(data);
  if (isSame) return undefined;
  const bytes = writeStoredModel(refilled(graph, tensors), graph.source);
  await writeFile(path, bytes, { flush: true });
  return writer.end + bytes.length;
}

/** Another name than any file beside the base has: constants that stay in such a file would be looked for in the new one. */
function dataName(base: string): string {
  for (let count = 1; ; count += 1) {
    const name = `${basename(base, '.onnx')}.lehr-import${count > 1 ? `-${count}` : ''}.onnx_data`;
    if (!existsSync(join(dirname(base), name))) return name;
  }
}

/** One weight may be in several places, in different forms. */
function initializerName({ place: { dims }, weight, isTransposed }: FilledPlace): string {
  const isPlain = !isTransposed && dims.join() === shapeOf(weight).join();
  return isPlain ? weight.name : `${weight.name}.${isTransposed ? 'transposed.' : ''}${dims.join('x')}`;
}

function isEqual(values: Uint8Array, stored: StoredTensor, { source, base }: GraphToWrite): boolean {
  const { rawData } = storedWeight(stored, source, base).load();
  return rawData !== undefined && rawData !== null && Buffer.compare(values, rawData) === 0;
}

async function written(
  name: string,
  { dims, dataType }: TensorProto,
  values: Uint8Array,
  writer: { readonly file: FileHandle; readonly location: string; end: number },
): Promise<TensorProto> {
  const header = { name, dims: dims ?? [], dataType: dataType ?? 0 };
  if (values.byteLength <= MAX_INLINE_BYTES) return { ...header, rawData: values };
  const offset = Math.ceil(writer.end / PAGE_BYTES) * PAGE_BYTES;
  for (let done = 0; done < values.byteLength; ) {
    const { bytesWritten } = await writer.file.write(values, done, undefined, offset + done);
    done += bytesWritten;
  }
  writer.end = offset + values.byteLength;
  const place = { location: writer.location, offset: `${offset}`, length: `${values.byteLength}` };
  const externalData = Object.entries(place).map(([key, value]) => ({ key, value }));
  return { ...header, dataLocation: EXTERNAL, externalData };
}

/** The model with the new weights. Constants of the base that nothing takes any more are left out. */
function refilled(
  { stored, filled, base }: GraphToWrite,
  tensors: ReadonlyMap<string, TensorProto>,
): StoredModel {
  for (const each of filled) {
    const { node, input } = each.place;
    if (node.input) node.input[input] = initializerName(each);
  }
  const graph = withoutCopies(stored.graph, tensors);
  inlineConstants(graph, base);
  const used = new Set(valuesTakenIn(graph));
  // A new weight has the name of the one that it replaces, where that had one.
  const kept = stored.initializers.filter(
    ({ tensor: { name } }) => used.has(name ?? '') && !tensors.has(name ?? ''),
  );
  const small = kept.filter(({ tensor }) => isSmallFile(tensor));
  const initializer = [...tensors.values(), ...small.map(({ tensor }) => weightOf(tensor, base).load())];
  return {
    ...stored,
    graph: { ...graph, initializer },
    initializers: kept.filter((each) => !small.includes(each)),
  };
}

/** A few numbers in a file of gigabytes would keep all of that beside the new weights. */
const isSmallFile = (tensor: TensorProto): boolean =>
  tensor.dataLocation === EXTERNAL && weightOf(tensor, '').bytes <= MAX_COPIED_BYTES;

function inlineConstants({ node }: GraphProto, base: string): void {
  for (const each of (node ?? []).flatMap(({ attribute }) => attribute ?? [])) {
    if (each.t && isSmallFile(each.t)) each.t = weightOf(each.t, base).load();
    if (each.g) inlineConstants(each.g, base);
  }
}

/** Without the copies (`Identity`) that nothing takes any more, or that have become weights of their own. */
function withoutCopies(graph: GraphProto, weights: ReadonlyMap<string, TensorProto>): GraphProto {
  for (let nodes = graph.node ?? []; ; ) {
    const used = new Set([
      ...nodes.flatMap(valuesTakenBy),
      ...(graph.output ?? []).map(({ name }) => name ?? ''),
    ]);
    const isCopy = ({ opType, output }: NodeProto): boolean =>
      opType === 'Identity' && (!used.has(output?.[0] ?? '') || weights.has(output?.[0] ?? ''));
    const kept = nodes.filter((node) => !isCopy(node));
    if (kept.length === nodes.length) {
      for (const { attribute } of kept)
        for (const each of attribute ?? []) if (each.g) each.g = withoutCopies(each.g, weights);
      return { ...graph, node: kept };
    }
    nodes = kept;
  }
}

/** Also by the nodes of its subgraphs, and by their outputs. */
const valuesTakenBy = ({ input, attribute }: NodeProto): string[] => [
  ...(input ?? []),
  ...(attribute ?? []).flatMap(({ g }) => (g ? valuesTakenIn(g) : [])),
];

const valuesTakenIn = ({ node, output }: GraphProto): string[] => [
  ...(node ?? []).flatMap(valuesTakenBy),
  ...(output ?? []).map(({ name }) => name ?? ''),
];
