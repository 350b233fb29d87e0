/** Opens the folder of a text model: tokenizer, graph and what its outputs mean, ready to run. */
import { join } from 'node:path';
import { LehrError, type TextItem, type TextJobType, toPlainError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../../folder/config-file.ts';
import { graphPath, openWhole, reportOf } from '../../folder/open-whole.ts';
import type { GraphReport, InferenceRuntime, LoadOptions, ValueInfo } from '../../runtime/runtime.ts';
import { functionOf, labelsOf } from '../../values/scores.ts';
import type { Reading } from '../answers.ts';
import { EXAMPLE_TEXTS } from '../example-texts.ts';
import { TextGraph } from '../text-graph.ts';
import { type EncodedText, TextTokenizer } from '../tokenizer.ts';
import { prepareSentence, readSentenceConfig } from './sentence-config.ts';
import { readTextConfig, type TextConfig, type TextModelConfig } from './text-config.ts';

export interface TextOptions extends LoadOptions {
  /** Which of several exports in one folder: the suffix of the graph's name, such as `_quantized`. Default none. */
  readonly variant?: string;
}

export interface TextModel {
  readonly tokenizer: TextTokenizer;
  readonly graph: TextGraph;
  readonly reading: Reading;
  /** Types of job that its outputs answer. */
  readonly types: readonly TextJobType[];
  /** Numbers of an embedding; undefined when it makes none. */
  readonly dimensions: number | undefined;
  readonly graphs: readonly GraphReport[];
  /** As `tokenizer.encode`; a text that is to be embedded is first treated as sentence-transformers would, for its folders. */
  encode(item: TextItem, type: TextJobType, options: { readonly mayTruncate: boolean }): EncodedText;
  close(): Promise<void>;
}

/**
 * Opens a folder in Optimum's layout, its graph at the root or below `onnx/`, with or without the files of sentence-transformers,
 * and runs the graph on two texts. The folder comes from the registry; every path below it is fixed here. Throws LehrError
 * `model-unavailable` that names the file; nothing stays loaded then.
 */
export async function openTextModel(
  folder: string,
  runtime: InferenceRuntime,
  options: TextOptions,
): Promise<TextModel> {
  return openWhole(folder, runtime, (tracked) => openParts(folder, tracked, options));
}

async function openParts(
  folder: string,
  runtime: InferenceRuntime,
  options: TextOptions,
): Promise<Omit<TextModel, 'close'>> {
  const config = await readTextConfig(folder);
  const tokenizer = await openTokenizer(folder, config);
  // Runs are short, and between two of them the API, Redis and the worker may need the cores.
  const session = await runtime.load(
    { path: graphPath(folder, options.variant) },
    { spin: false, ...options },
  );
  const graph = new TextGraph(session, {
    padId: config.model.pad_token_id ?? tokenizer.padId,
    tokenTypes: config.model.type_vocab_size ?? 1,
    firstPosition: config.firstPosition,
  });
  const outputs = findOutputs(graph.outputs, config.model);
  const { isPlain, ...sentence } = await readSentenceConfig(folder, isPooled(outputs));
  const preparing = { strips: !isPlain, lowerCases: !isPlain && config.lowerCases };
  const names = [...new Set(Object.values(outputs))];
  // Two texts of different lengths: shows where the nodes run, and that batch and length are free. Other forms of the graph are compared on them.
  const texts = EXAMPLE_TEXTS.slice(0, 2).map((text, i) => encodeEither(tokenizer, text, 'a'.repeat(i)));
  const [row] = await graph.run(texts, names);
  const embedding = outputs['text-embedding'];
  const width = embedding === undefined ? undefined : row[embedding].width;
  return {
    tokenizer,
    graph,
    reading: { outputs, ...sentence, labels: labelsOf(config.model), function: functionOf(config.model) },
    types: Object.keys(outputs) as TextJobType[],
    dimensions: width && width * (isPooled(outputs) ? 1 : sentence.poolings.length),
    encode: (item, type, limits) => {
      const isSentence = type === 'text-embedding' && typeof item === 'string';
      return tokenizer.encode(isSentence ? prepareSentence(item, preparing) : item, limits);
    },
    graphs: [reportOf('encoder', session)],
  };
}

/** The simpler text where the model has not got a token of the other one, which is no reason to refuse the model. */
function encodeEither(tokenizer: TextTokenizer, text: string, simpler: string): EncodedText {
  try {
    return tokenizer.encode(text, { mayTruncate: true });
  } catch (error) {
    if (toPlainError(error).code !== 'invalid-input') throw error;
    return tokenizer.encode(simpler, { mayTruncate: true });
  }
}

const TokenizerJsonSchema = z.looseObject({ model: z.looseObject({ type: z.string() }) });

async function openTokenizer(folder: string, config: TextConfig): Promise<TextTokenizer> {
  const path = join(folder, 'tokenizer.json');
  const json = await readConfigFile(path, TokenizerJsonSchema);
  try {
    return new TextTokenizer(json, config.tokenizer);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LehrError('model-unavailable', `${path} is no tokenizer that Lehr can run: ${reason}`, {
      cause,
    });
  }
}

type TextOutputs = Partial<Record<TextJobType, string>>;

/** Vectors of a text with the pooling inside, as in Optimum's exports of sentence-transformers; then vectors of its tokens. */
const POOLED = ['sentence_embedding'];
const HIDDEN = ['last_hidden_state', 'token_embeddings'];
/** Scores of the vocabulary in a graph that has labels as well; Optimum's graphs have one head, and call its output `logits`. */
const MASK_LOGITS = 'mask_logits';
const LOGITS = 'logits';

/**
 * Which output of a text graph answers which type of job.
 *
 * `logits` are scores of labels when they have no axis of positions. With one, they are scores of the vocabulary or of labels: the
 * architecture says which, and the width, where the graph gives it. Throws LehrError `model-unavailable` when no output is known.
 */
function findOutputs(outputs: readonly ValueInfo[], config: TextModelConfig): TextOutputs {
  const named = (name: string): ValueInfo | undefined => outputs.find((output) => output.name === name);
  const found: TextOutputs = {};
  const embedding = [...POOLED, ...HIDDEN].find((name) => named(name) !== undefined);
  if (embedding !== undefined) found['text-embedding'] = embedding;
  if (named(MASK_LOGITS)) found['fill-mask'] = MASK_LOGITS;
  const logits = named(LOGITS);
  if (logits) found[headOf(logits, config)] = LOGITS;
  if (Object.keys(found).length === 0) {
    const names = outputs.map(({ name }) => name).join(', ');
    throw new LehrError(
      'model-unavailable',
      `The text graph has none of the outputs ${[...POOLED, ...HIDDEN, LOGITS].join(', ')}; it has ${names}.`,
    );
  }
  return found;
}

function headOf({ dims }: ValueInfo, { architectures, vocab_size }: TextModelConfig): TextJobType {
  if (dims.length === 2) return 'text-classification';
  const [architecture = ''] = architectures ?? [];
  if (architecture.endsWith('ForMaskedLM')) return 'fill-mask';
  if (architecture.endsWith('ForTokenClassification')) return 'token-classification';
  return dims[dims.length - 1] === vocab_size ? 'fill-mask' : 'token-classification';
}

/** Whether the graph makes one vector of a text itself. */
const isPooled = (outputs: TextOutputs): boolean => POOLED.includes(outputs['text-embedding'] ?? '');
