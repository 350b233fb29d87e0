/** Opens the text encoder of a Stable Diffusion folder, the two of an SDXL folder, or the second alone of a refiner, each with its tokenizer. */
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { reportOf } from '../../folder/open-whole.ts';
import type { Adapt, ModelAdapters } from '../../models/adapters/model-adapters.ts';
import { readGraph, rewrittenSource } from '../../runtime/external-data.ts';
import type { GraphReport, GraphSource, InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import { PairedTextEncoder } from '../paired-text-encoder.ts';
import {
  type EarlierLayers,
  noLayer,
  type PromptEncoder,
  TextEncoder,
  type TextEncoderOptions,
} from '../text-encoder.ts';
import type { ClipTokenizer } from '../tokenizer.ts';
import { openClipTokenizer } from './clip-tokenizer.ts';
import type { DiffusionConfig } from './diffusion-config.ts';
import { addEarlierLayers } from './earlier-layers.ts';

export interface TextEncoders {
  /** Of the first one that there is. */
  readonly tokenizer: ClipTokenizer;
  readonly textEncoder: PromptEncoder;
  readonly graphs: readonly GraphReport[];
}

interface OpenOptions extends LoadOptions {
  /** Memory for cached prompt embeddings. */
  readonly embeddingCacheBytes?: number;
}

const CACHE_BYTES = 64 * 1024 * 1024;

/** Of the two encoders of SDXL: the joined embeddings, which the pair keeps too, are at most four times as large. */
const CACHE_SHARE = 1 / 6;

export async function openTextEncoders(
  folder: string,
  config: DiffusionConfig,
  runtime: InferenceRuntime,
  options: OpenOptions,
  adapters: ModelAdapters,
): Promise<TextEncoders> {
  const cacheBytes = options.embeddingCacheBytes ?? CACHE_BYTES;
  const open = (name: Graph, own: Config, more: TextEncoderOptions) =>
    adapters.open(name, (adapt) => openOne(folder, name, own, runtime, options, { ...more, adapt }));
  const { textEncoder, textEncoder2 } = config;
  if (!textEncoder || !textEncoder2) {
    const { tokenizer, encoder, graph } = textEncoder2
      ? await open('text_encoder_2', textEncoder2, { ...asInXl(textEncoder2), cacheBytes })
      : await open('text_encoder', textEncoder ?? {}, { cacheBytes });
    return { tokenizer, textEncoder: encoder, graphs: [graph] };
  }
  const shared = { layer: 'penultimate', cacheBytes: Math.floor(cacheBytes * CACHE_SHARE) } as const;
  const first = await open('text_encoder', textEncoder, shared);
  const second = await open('text_encoder_2', textEncoder2, { ...shared, ...asInXl(textEncoder2) });
  if (first.tokenizer.maxTokens !== second.tokenizer.maxTokens) {
    const tokens = `${first.tokenizer.maxTokens} and ${second.tokenizer.maxTokens} tokens`;
    throw new LehrError(
      'model-unavailable',
      `The text encoders of ${folder} take ${tokens}, wanted as many.`,
    );
  }
  return {
    tokenizer: first.tokenizer,
    textEncoder: new PairedTextEncoder(first.encoder, second.encoder),
    graphs: [first.graph, second.graph],
  };
}

type Graph = 'text_encoder' | 'text_encoder_2';
type Config = NonNullable<DiffusionConfig['textEncoder']>;

/** How SDXL and its refiner read their second text encoder. */
const asInXl = ({ projection_dim }: Config) =>
  ({ layer: 'penultimate', pooled: { dim: projection_dim ?? undefined } }) as const;

async function openOne(
  folder: string,
  name: string,
  config: Config,
  runtime: InferenceRuntime,
  load: LoadOptions,
  { adapt, ...options }: TextEncoderOptions & { readonly adapt: Adapt },
) {
  const maxTokens = config.max_position_embeddings ?? undefined;
  const tokenizer = await openClipTokenizer(join(folder, name.replace('text_encoder', 'tokenizer')), {
    maxTokens,
  });
  const path = join(folder, name, 'model.onnx');
  const { source, columns: adapters } = adapt({ path });
  const session = await runtime.load(source, load);
  const embeddingDim = config.hidden_size ?? undefined;
  // Adapted again, because the bytes of an adapted graph are too many to be kept until then.
  const openEarlier = (last: string) => openEarlierLayers(adapt({ path }).source, last, runtime, load);
  const own = { graph: name, embeddingDim, openEarlier, adapters };
  const encoder = new TextEncoder(session, tokenizer, { ...options, ...own });
  await encoder.encode(['']);
  return { tokenizer, encoder, graph: reportOf(name, session) };
}

/** A second session, and not more outputs of the first one: those would keep ONNX Runtime from fusing what every other job runs. */
async function openEarlierLayers(
  source: GraphSource,
  last: string,
  runtime: InferenceRuntime,
  load: LoadOptions,
): Promise<EarlierLayers> {
  const stored = readGraph(source);
  const outputs = addEarlierLayers(stored, last);
  if (!outputs)
    throw noLayer('cannot be used with this model: Lehr finds no layers in the graph of its text encoder');
  return { session: await runtime.load(rewrittenSource(source, stored), load), outputs };
}
