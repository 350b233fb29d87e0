/** Decides, before anything is written, which weight of a file goes where in the graphs of a folder, and refuses what does not fit. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_TYPE, type StoredModel } from '@lehr/onnx-model';
import type { Task } from '@lehr/shared';
import { z } from 'zod';
import { readOptionalConfig } from '../../folder/config-file.ts';
import { checkExternalData, readGraph, weightFiles } from '../../runtime/external-data.ts';
import { type NamedWeight, namedWeights, type Shapes, shapeOf } from '../weights/layouts.ts';
import { hasIntegers, type WeightPlace, weightPlaces } from '../weights/weight-places.ts';
import { refusedFile, type WeightsFile } from '../weights/weights-file.ts';
import { type FilledPlace, type Matched, matchWeights } from './match-weights.ts';

export interface GraphPlan {
  /** Below the folder of the base. */
  readonly graph: string;
  readonly stored: StoredModel;
  /** The files of its weights, below the folder of the base. */
  readonly data: readonly string[];
  /** Nothing when the graph stays as it is. */
  readonly filled: readonly FilledPlace[];
  /** Its integers cannot take the weights of a file; the new version has no such graph. */
  readonly isQuantized: boolean;
}

export interface ImportPlan {
  readonly graphs: readonly GraphPlan[];
  /** Tensors of the file that are in a graph. */
  readonly used: number;
  /** The names of its other tensors. */
  readonly unused: readonly string[];
  /** Of the values that are written. */
  readonly bytes: number;
}

export interface Base {
  readonly folder: string;
  /** As users know it: `name@version`. */
  readonly name: string;
  readonly task: Task;
}

/** `paths` are the graphs of the base. Throws LehrError `invalid-request` when the file is not of a model with these graphs. */
export async function planImport(
  base: Base,
  paths: readonly string[],
  file: WeightsFile,
): Promise<ImportPlan> {
  const { weights, unknown } = await weightsOf(base, file);
  const graphs = paths.map((graph) => planGraph(base, graph, weights, file));
  const used = new Set(graphs.flatMap(({ filled }) => filled.map(({ weight }) => weight.tensor.name)));
  if (used.size === 0) throw refusedFile(file.path, nothingFits(base, graphs, file));
  const bytes = graphs
    .flatMap(({ filled }) => filled)
    .reduce((sum, { place }) => sum + bytesOfPlace(place), 0);
  const unused = new Set([...unknown, ...weights.map(({ tensor }) => tensor.name)]);
  return { graphs, used: used.size, unused: [...unused].filter((name) => !used.has(name)), bytes };
}

const bytesOfPlace = ({ dims, stored }: WeightPlace): number =>
  dims.reduce((product, size) => product * size, stored.tensor.dataType === DATA_TYPE.float16 ? 2 : 4);

function nothingFits({ name }: Base, graphs: readonly GraphPlan[], { tensors }: WeightsFile): string {
  if (graphs.length > 0 && graphs.every(({ isQuantized }) => isQuantized))
    return `cannot be imported like ${name}, whose graphs are in int8; take its float32 form, and lehr models prepare --precision int8 afterwards`;
  const names = [...tensors.keys()].slice(0, 3).map((each) => JSON.stringify(each.slice(0, 80)));
  return `has no weight that ${name} has; it begins with ${names.join(', ') || 'nothing'}`;
}

async function weightsOf({ folder, task }: Base, { tensors }: WeightsFile) {
  if (task === 'diffusion') return namedWeights(tensors, await readShapes(folder));
  const weights = [...tensors].map(([name, tensor]): NamedWeight => ({ part: '', name, tensor }));
  return { weights, unknown: [] };
}

/** Both graphs of the VAE are parts of one. */
const VAE_GRAPHS = /^vae_(?:de|en)coder$/;

/** A graph that stays as it is. */
export function keptGraph(folder: string, graph: string): GraphPlan {
  const path = join(folder, graph);
  checkExternalData({ path });
  const stored = readGraph({ path });
  const data = weightFiles({ path }).map((each) => join(graph, '..', each));
  return { graph, stored, data, filled: [], isQuantized: hasIntegers(stored.graph) };
}

function planGraph(
  { folder, name, task }: Base,
  graph: string,
  weights: readonly NamedWeight[],
  file: WeightsFile,
): GraphPlan {
  const kept = keptGraph(folder, graph);
  const { stored, isQuantized } = kept;
  const part = task === 'diffusion' ? graph.split('/')[0].replace(VAE_GRAPHS, 'vae') : '';
  const own = isQuantized ? [] : weights.filter((weight) => weight.part === part);
  if (own.length === 0) return kept;
  const matched = matchWeights(weightPlaces(stored), new Map(own.map((weight) => [weight.name, weight])));
  const problem = problemOf(matched, `${graph} of ${name}`);
  if (problem !== undefined) throw refusedFile(file.path, problem);
  return { ...kept, filled: matched.filled };
}

function problemOf(
  { missing, misshapen: [wrong], unplaced: [lost] }: Matched,
  graph: string,
): string | undefined {
  if (wrong) {
    const { weight, wanted } = wrong;
    const [is, has] = [shapeOf(weight), wanted].map((sizes) => sizes.join(' x ') || 'one number');
    return `is of another architecture: its ${weight.tensor.name} is ${is}, and ${graph} has ${has} there`;
  }
  if (lost) return `cannot be imported: where ${graph} has ${lost.tensor.name} is not known`;
  if (missing.length === 0) return undefined;
  const others = missing.length > 1 ? ` and ${missing.length - 1} more` : '';
  return `is of another architecture or incomplete: it lacks ${missing[0]}${others}, which ${graph} has`;
}

const UnetSchema = z.object({ layers_per_block: z.int().positive().default(2) });
const VaeSchema = z.object({ block_out_channels: z.array(z.int()).default([0, 0, 0, 0]) });
const EncoderSchema = z.object({ hidden_size: z.int().optional() });

async function readShapes(folder: string): Promise<Shapes> {
  const [unet, vae, encoder] = await Promise.all([
    readOptionalConfig(join(folder, 'unet/config.json'), UnetSchema),
    readOptionalConfig(join(folder, 'vae_decoder/config.json'), VaeSchema),
    readOptionalConfig(join(folder, 'text_encoder/config.json'), EncoderSchema),
  ]);
  return {
    layersPerBlock: unet.layers_per_block,
    vaeLevels: vae.block_out_channels.length,
    hasSecondEncoder: existsSync(join(folder, 'text_encoder_2')),
    textWidth: encoder.hidden_size,
  };
}
