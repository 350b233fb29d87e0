/**
 * A model file may name other files that hold its weights. A name that leads out of the model's folder would let a
 * downloaded model read any file of the machine (CVE-2022-25882, CVE-2024-27318), so such models are refused.
 */

import { lstatSync } from 'node:fs';
import { basename } from 'node:path';
import {
  type AttributeProto,
  EXTERNAL,
  type GraphProto,
  memorySource,
  type NewTensor,
  type NodeProto,
  readStoredModel,
  type SparseTensorProto,
  type StoredModel,
  type TensorProto,
  withFileSource,
  writeStoredModel,
} from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import type { GraphSource } from './runtime.ts';

/** Reads a graph without its weights. Throws LehrError `model-unavailable` when it is not an ONNX model. */
export function readGraph({ path, bytes }: GraphSource): StoredModel {
  try {
    return bytes ? readStoredModel(memorySource(bytes)) : withFileSource(path, readStoredModel);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LehrError('model-unavailable', `${path} is not a readable ONNX file: ${reason}`, { cause });
  }
}

/** Reads the graph without its weights. Throws LehrError `model-unavailable` when a name leads out of the folder. */
export function checkExternalData(source: GraphSource): void {
  const stored = readGraph(source);
  for (const location of externalLocations(stored)) {
    if (!isInside(location)) {
      const wanted = 'Wanted a relative path without "..".';
      throw new LehrError(
        'model-unavailable',
        `${source.path} keeps weights at ${JSON.stringify(location)}, outside its folder. ${wanted}`,
      );
    }
  }
}

/** The files that hold weights of this graph, relative to its own. Call checkExternalData first. */
export const weightFiles = (source: GraphSource): string[] => [...externalLocations(readGraph(source))];

function isInside(location: string): boolean {
  const isAbsolute = /^([/\\]|[A-Za-z]:)/.test(location);
  // ONNX Runtime reads a name like "*/_ORT_MEM_ADDR_/*" as an address in memory.
  const isMarker = location.startsWith('*');
  const climbs = location.split(/[/\\]/).includes('..');
  return location !== '' && !isAbsolute && !isMarker && !climbs && !location.includes('\0');
}

/** Every file named by a tensor anywhere in the model. */
function externalLocations({ model, graph, initializers }: StoredModel): Set<string> {
  const locations = new Set<string>();
  for (const { tensor } of initializers) collectTensor(tensor, locations);
  collectGraph(graph, locations);
  for (const { node, attributeProto } of model.functions ?? []) {
    collectNodes(node ?? [], locations);
    collectAttributes(attributeProto ?? [], locations);
  }
  for (const { initialization, algorithm } of model.trainingInfo ?? []) {
    for (const part of [initialization, algorithm]) if (part) collectGraph(part, locations);
  }
  return locations;
}

function collectGraph(graph: GraphProto, locations: Set<string>): void {
  for (const tensor of graph.initializer ?? []) collectTensor(tensor, locations);
  for (const sparse of graph.sparseInitializer ?? []) collectSparse(sparse, locations);
  collectNodes(graph.node ?? [], locations);
}

function collectNodes(nodes: readonly NodeProto[], locations: Set<string>): void {
  for (const { attribute } of nodes) collectAttributes(attribute ?? [], locations);
}

function collectAttributes(attributes: readonly AttributeProto[], locations: Set<string>): void {
  for (const { t, g, tensors, graphs, sparseTensor, sparseTensors } of attributes) {
    for (const tensor of [t, ...(tensors ?? [])]) collectTensor(tensor, locations);
    for (const graph of [g, ...(graphs ?? [])]) if (graph) collectGraph(graph, locations);
    for (const sparse of [sparseTensor, ...(sparseTensors ?? [])]) collectSparse(sparse, locations);
  }
}

function collectSparse(sparse: SparseTensorProto | null | undefined, locations: Set<string>): void {
  collectTensor(sparse?.values, locations);
  collectTensor(sparse?.indices, locations);
}

function collectTensor(tensor: TensorProto | null | undefined, locations: Set<string>): void {
  if (tensor?.dataLocation !== EXTERNAL) return;
  const names = (tensor.externalData ?? [])
    .filter(({ key }) => key === 'location')
    .map(({ value }) => value ?? '');
  // A tensor without a name for its file is refused too: an empty location is not inside the folder.
  for (const name of names.length > 0 ? names : ['']) locations.add(name);
}

/**
 * The name by which a rewritten graph refers to the weights inside its own file. Undefined for a link, whose weights must be copied: ONNX
 * Runtime refuses external data that is outside the folder of the graph ("escapes model directory").
 */
export const weightsPlace = (path: string): string | undefined =>
  lstatSync(path).isSymbolicLink() ? undefined : basename(path);

/** The graph as it was changed after it was read from this source, with initializers that are new. */
export function rewrittenSource(
  source: GraphSource,
  changed: StoredModel,
  added: readonly NewTensor[] = [],
): GraphSource {
  const { bytes, path } = source;
  const rewritten = bytes
    ? writeStoredModel(changed, memorySource(bytes), undefined, added)
    : withFileSource(path, (file) => writeStoredModel(changed, file, weightsPlace(path), added));
  return { ...source, bytes: rewritten };
}
