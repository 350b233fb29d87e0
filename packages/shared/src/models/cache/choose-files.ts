/**
 * Chooses the files of a source that a family of models needs. Repositories often hold the same weights in several formats and
 * precisions; a model that needs 2 GB should not fetch 20.
 */
import { LehrError } from '../../base/errors.ts';
import type { Task } from '../../contracts/group.ts';
import type { RemoteFile } from './remote.ts';

export interface ChosenFile extends RemoteFile {
  /** Where the file goes: the graphs of a variant get the plain name. */
  readonly target: string;
}

export interface Choice {
  readonly task: Task;
  readonly files: readonly ChosenFile[];
}

/** Folders of a diffusion pipeline that hold a graph. */
const COMPONENTS = ['unet', 'vae_decoder'] as const;
const FIRST_ENCODER = 'text_encoder';
const SECOND_ENCODER = 'text_encoder_2';
const PICTURE_ENCODER = 'vae_encoder';
const TOKENIZERS = /^tokenizer(?:_2)?\/[^/]+\.(?:json|txt)$/;
const SCHEDULER = 'scheduler/scheduler_config.json';
/** Of a Whisper folder: the configs, and a tokenizer in both of its forms. */
const WHISPER_FILES = [
  'config.json',
  'generation_config.json',
  'preprocessor_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'normalizer.json',
];
const WHISPER_NEEDED = [
  'config.json',
  'generation_config.json',
  'preprocessor_config.json',
  'tokenizer.json',
];
/** Of a text model: its configs and tokenizer, and the modules of sentence-transformers. */
const TEXT_FILES = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'modules.json',
  'sentence_bert_config.json',
];
const TEXT_NEEDED = ['config.json', 'tokenizer.json'];
/** Of a model that transforms pictures: its configs, where it has some. */
const TRANSFORM_FILES = ['config.json', 'preprocessor_config.json'];
const TRANSFORM_GRAPH = /^(?:onnx\/)?model(?:[._][^/]+)?\.onnx$/;
const MODULE_CONFIGS = /^\d+_[A-Za-z]+\/config\.json$/;
/** What an export usually keeps beside its graph. */
const DATA = /\.(?:onnx_data(?:_\d+)?|data|pb|weights)$/;
/** Other formats of the same weights, texts, graphs, and files that another fetch has not completed. */
const NO_DATA = /^\.|\.(?:safetensors|bin|msgpack|h5|ckpt|pth?|xml|gguf|ort|onnx|json|txt|md|py|part)$/;

type Files = ReadonlyMap<string, RemoteFile>;

/** Throws `model-unavailable` that names what is missing and how to make it. */
export function chooseFiles(files: readonly RemoteFile[], variant: string | undefined): Choice {
  const byPath: Files = new Map(files.map((file) => [file.path, file]));
  if (byPath.has('model_index.json'))
    return { task: 'diffusion', files: withoutRepeats(diffusionFiles(byPath, variant)) };
  if (isTransform(byPath))
    return { task: 'transform', files: withoutRepeats(transformFiles(byPath, variant)) };
  if (byPath.has('preprocessor_config.json'))
    return { task: 'whisper', files: withoutRepeats(whisperFiles(byPath, variant)) };
  if (TEXT_NEEDED.every((path) => byPath.has(path)))
    return { task: 'text', files: withoutRepeats(textFiles(byPath, variant)) };
  const seen = files.slice(0, 5).map(({ path }) => path);
  throw new LehrError(
    'model-unavailable',
    `The source has neither a model_index.json (Stable Diffusion) nor a preprocessor_config.json (Whisper) nor config.json and tokenizer.json (text models), nor one graph (models that transform pictures); it has ${seen.join(', ') || 'no files'}.`,
  );
}

/** Data that is not named after a graph is chosen for every graph of its folder, but must be fetched once. */
const withoutRepeats = (files: readonly ChosenFile[]): ChosenFile[] => [
  ...new Map(files.map((file) => [file.target, file])).values(),
];

function diffusionFiles(files: Files, variant: string | undefined): ChosenFile[] {
  const has = (folder: string): boolean => [...files.keys()].some((path) => path.startsWith(`${folder}/`));
  const hasSecond = has(SECOND_ENCODER);
  // A refiner has the second text encoder alone, and does nothing without a picture.
  const isRefiner = hasSecond && !has(FIRST_ENCODER);
  // Only image to image needs it: a source that has none in this variant is no worse for prompts.
  const takesPictures = isRefiner || graphFile(files, `${PICTURE_ENCODER}/model`, variant) !== undefined;
  const present = [
    ...(isRefiner ? [] : [FIRST_ENCODER]),
    ...COMPONENTS,
    ...(hasSecond ? [SECOND_ENCODER] : []),
    ...(takesPictures ? [PICTURE_ENCODER] : []),
  ];
  const graphs = present.map((name) => `${name}/model`);
  const tokenizers = [...files.keys()].filter((path) => TOKENIZERS.test(path));
  const missing = [
    ...(files.has(SCHEDULER) ? [] : [SCHEDULER]),
    ...(tokenizers.length > 0 ? [] : ['tokenizer/']),
    ...graphs
      .filter((graph) => graphFile(files, graph, variant) === undefined)
      .map((graph) => `${graph}.onnx`),
  ];
  if (missing.length > 0) throw lacks(files, missing, variant);
  const configs = present.map((name) => `${name}/config.json`);
  return [
    ...plain(files, ['model_index.json', SCHEDULER, ...tokenizers, ...configs]),
    ...graphs.flatMap((graph) => withData(files, graph, variant)),
  ];
}

function whisperFiles(files: Files, variant: string | undefined): ChosenFile[] {
  const place = graphFile(files, 'encoder_model', variant) !== undefined ? '' : 'onnx/';
  const merged = `${place}decoder_model_merged`;
  const pair = [`${place}decoder_model`, `${place}decoder_with_past_model`];
  const hasPair = pair.every((graph) => graphFile(files, graph, variant) !== undefined);
  const decoder = graphFile(files, merged, variant) !== undefined || !hasPair ? [merged] : pair;
  const graphs = [`${place}encoder_model`, ...decoder];
  const missing = [
    ...WHISPER_NEEDED.filter((path) => !files.has(path)),
    ...graphs
      .filter((graph) => graphFile(files, graph, variant) === undefined)
      .map((graph) => `${graph}.onnx`),
  ];
  if (missing.length > 0) throw lacks(files, missing, variant);
  return [...plain(files, WHISPER_FILES), ...graphs.flatMap((graph) => withData(files, graph, variant))];
}

function textFiles(files: Files, variant: string | undefined): ChosenFile[] {
  const graph = graphFile(files, 'model', variant) !== undefined ? 'model' : 'onnx/model';
  if (graphFile(files, graph, variant) === undefined) {
    throw lacks(files, ['model.onnx'], variant);
  }
  const modules = [...files.keys()].filter((path) => MODULE_CONFIGS.test(path));
  return [...plain(files, [...TEXT_FILES, ...modules]), ...withData(files, graph, variant)];
}

/** One graph, and nothing that reads or writes texts. Upscalers often come without any config. */
function isTransform(files: Files): boolean {
  if (files.has('tokenizer.json') || files.has('generation_config.json')) return false;
  const graphs = [...files.keys()].filter((path) => path.endsWith('.onnx'));
  return graphs.length === 1 || graphs.some((path) => TRANSFORM_GRAPH.test(path));
}

/** The only graph of a source becomes `model.onnx`, whatever its name. */
function transformFiles(files: Files, variant: string | undefined): ChosenFile[] {
  const configs = plain(files, TRANSFORM_FILES);
  const graph = ['model', 'onnx/model'].find((each) => graphFile(files, each, variant) !== undefined);
  if (graph !== undefined) return [...configs, ...withData(files, graph, variant)];
  const [only, ...others] = [...files.keys()].filter((path) => path.endsWith('.onnx'));
  if (variant !== undefined || others.length > 0) throw lacks(files, ['model.onnx'], variant);
  const [, ...data] = withData(files, only.slice(0, -'.onnx'.length), undefined);
  // Its data stays beside it, where the graph looks for it.
  const folder = only.slice(0, only.lastIndexOf('/') + 1);
  const beside = data.map((file) => ({ ...file, target: file.target.slice(folder.length) }));
  return [...configs, { ...(files.get(only) as RemoteFile), target: 'model.onnx' }, ...beside];
}

const plain = (files: Files, paths: readonly string[]): ChosenFile[] =>
  paths.flatMap((path) => {
    const file = files.get(path);
    return file ? [{ ...file, target: path }] : [];
  });

/** `graph` is a path without its ending. */
function graphFile(files: Files, graph: string, variant: string | undefined): RemoteFile | undefined {
  const endings = variant === undefined ? ['.onnx'] : [`_${variant}.onnx`, `.${variant}.onnx`];
  return endings.map((ending) => files.get(`${graph}${ending}`)).find((file) => file !== undefined);
}

/**
 * A graph, and the data files that it may name. Their names are known only from inside the graph, so each data file in its folder
 * is taken that is not clearly named after another graph. They keep their names, because the graph refers to them.
 */
function withData(files: Files, graph: string, variant: string | undefined): ChosenFile[] {
  const file = graphFile(files, graph, variant);
  if (!file) return [];
  const folder = file.path.slice(0, file.path.lastIndexOf('/') + 1);
  const inFolder = [...files.values()].filter(
    ({ path }) => path.startsWith(folder) && !path.slice(folder.length).includes('/'),
  );
  const others = inFolder.filter(({ path }) => path.endsWith('.onnx') && path !== file.path);
  const isOfOther = (path: string): boolean =>
    !path.startsWith(file.path) && others.some((other) => path.startsWith(other.path));
  // Older exporters write a file for each tensor, with any name. The root of a repository has other files as well.
  const isData = (name: string): boolean => (folder === '' ? DATA.test(name) : !NO_DATA.test(name));
  const data = inFolder.filter(({ path }) => isData(path.slice(folder.length)) && !isOfOther(path));
  return [{ ...file, target: `${graph}.onnx` }, ...data.map((each) => ({ ...each, target: each.path }))];
}

function lacks(files: Files, missing: readonly string[], variant: string | undefined): LehrError {
  const graphs = [...files.keys()].filter((path) => path.endsWith('.onnx'));
  const has =
    graphs.length > 0 ? ` Its graphs: ${graphs.slice(0, 8).join(', ')}.` : ' It has no ONNX graphs.';
  const of = variant === undefined ? '' : ` in the variant ${JSON.stringify(variant)}`;
  return new LehrError(
    'model-unavailable',
    `The source has no ${missing.join(', ')}${of}.${has} Export it with: lehr models export <name or folder>`,
  );
}
