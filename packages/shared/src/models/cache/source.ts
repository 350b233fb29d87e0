/** Where a model's folder is fetched from, as `source:` in models.yaml and `lehr models pull` name it. */
import { createHash } from 'node:crypto';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LehrError } from '../../base/errors.ts';

export type ModelSource =
  | { readonly kind: 'hub'; readonly repo: string; readonly folder: string; readonly revision: string }
  /** `prefix` is empty or ends in a slash. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  /** `url` ends in a slash. */
  | { readonly kind: 'https'; readonly url: string }
  | { readonly kind: 'folder'; readonly path: string };

/** The fields of a version in models.yaml that say what to fetch. */
export interface SourceFields {
  readonly source: string;
  /** A branch, tag or commit; of a hub repository only. */
  readonly revision?: string | undefined;
  /** Which of several exports: `fp16` takes `unet/model.fp16.onnx` or `encoder_model_fp16.onnx`. */
  readonly variant?: string | undefined;
  /** Set for what a model uses beside its folder. The source of an adapter is the address of a file. */
  readonly part?: 'adapter' | undefined;
}

export const VARIANT = /^[a-z0-9][a-z0-9_]{0,31}$/i;
const REPO = /^[\w.-]+\/[\w.-]+$/;
/** A page of the hub, as copied from a browser. */
const HUB_PAGE =
  /^https:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)\/(?<repo>[^/]+\/[^/]+)(?:\/tree\/(?<revision>[^/]+)(?<folder>\/.*)?)?\/?$/;
const DEFAULT_REVISION = 'main';

/** Throws `invalid-request` for a text that names no source. */
export function parseSource({ source, revision }: SourceFields): ModelSource {
  const parsed = parse(source, revision);
  if (revision !== undefined && parsed.kind !== 'hub') {
    throw invalid(source, 'only a hub repository has revisions');
  }
  return parsed;
}

function parse(text: string, revision: string | undefined): ModelSource {
  const isWeb = /^https?:/i.test(text);
  if (isWeb) checkUrl(text);
  const page = HUB_PAGE.exec(text)?.groups;
  if (page) return hub(`${page.repo}${page.folder ?? ''}`, revision ?? page.revision, text);
  if (text.startsWith('hf://')) return hub(text.slice('hf://'.length), revision, text);
  if (text.startsWith('s3://')) {
    const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(text) ?? [];
    if (!bucket) throw invalid(text, 'it has no bucket');
    return { kind: 's3', bucket, prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/` };
  }
  if (isWeb) return { kind: 'https', url: text.endsWith('/') ? text : `${text}/` };
  if (text.startsWith('file://')) return { kind: 'folder', path: pathOf(text) };
  if (isAbsolute(text)) return { kind: 'folder', path: resolve(text) };
  throw invalid(text, 'it is none of these');
}

/** Sources are logged and stored, so one that may contain a secret is refused, and the message does not quote it. */
function checkUrl(text: string): void {
  const url = URL.parse(text);
  if (url && url.username === '' && url.password === '' && !/[?#]/.test(text)) return;
  const why = url ? 'it has a user name, a password, a query or a fragment' : 'it is not a URL';
  throw new LehrError(
    'invalid-request',
    `The web address is not a source of a model: ${why}. Wanted: https://host/folder/.`,
  );
}

function pathOf(fileUrl: string): string {
  try {
    return resolve(fileURLToPath(fileUrl));
  } catch {
    throw invalid(fileUrl, 'it is not the URL of a folder of this machine');
  }
}

function hub(path: string, revision: string | undefined, text: string): ModelSource {
  const [owner = '', name = '', ...folder] = path.split('/').filter(Boolean);
  const repo = `${owner}/${name}`;
  if (!REPO.test(repo) || folder.includes('..')) throw invalid(text, 'a hub repository is owner/name');
  return { kind: 'hub', repo, folder: folder.join('/'), revision: revision ?? DEFAULT_REVISION };
}

/** What a person types: also `owner/name` of the hub, and a folder relative to `cwd` as `./folder`. */
export function parseTyped(text: string, revision: string | undefined, cwd: string): ModelSource {
  const isPath = /^\.{0,2}(?:\/|$)/.test(text);
  const source = isPath ? resolve(cwd, text) : REPO.test(text) ? `hf://${text}` : text;
  return parseSource({ source, revision });
}

/** One file of a source. */
export interface SourceFile {
  readonly source: ModelSource;
  /** Its name in the folder of the source. */
  readonly name: string;
}

const ADDRESS = /^(?:hf|s3|https?):\/\//i;
const HUB_FILE = /^[\w-][\w.-]*\/[\w.-]+\/./;
/** The page of a file of the hub, and the address behind its button, as copied from a browser. */
const HUB_FILE_PAGE =
  /^(https:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)\/[^/]+\/[^/]+)\/(?:blob|resolve)(?=\/)/;

/** What a person types for a file of weights: also `owner/name/file` of the hub. Undefined for a path of this machine. */
export function parseTypedFile(text: string, revision: string | undefined): SourceFile | undefined {
  const isAddress = ADDRESS.test(text);
  if (!isAddress && !HUB_FILE.test(text)) return undefined;
  const address = isAddress ? text : `hf://${text}`;
  const at = address.lastIndexOf('/');
  const folder = address.slice(0, at).replace(HUB_FILE_PAGE, '$1/tree');
  const source = parseSource({ source: folder, revision });
  const name = /^https?:/i.test(address) ? decoded(address.slice(at + 1)) : address.slice(at + 1);
  if (/^[^?#]+\.safetensors$/.test(name)) return { source, name };
  // Not quoted: a query may be a secret.
  throw new LehrError(
    'invalid-request',
    'Lehr fetches weights as one file whose address ends in .safetensors, without a query; a file of another format may be a pickle, which can run any program when it is opened.',
  );
}

/** Empty for what is not encoded as addresses are. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** The address of a file, as models.yaml has it. */
export function fileAddress({ source, name }: SourceFile): string {
  const { source: folder } = sourceFields(source);
  return `${folder}${folder.endsWith('/') ? '' : '/'}${source.kind === 'https' ? encodeURIComponent(name) : name}`;
}

/** The `source:` and `revision:` of models.yaml. */
export function sourceFields(source: ModelSource): Pick<SourceFields, 'source' | 'revision'> {
  switch (source.kind) {
    case 'hub': {
      const path = source.folder === '' ? source.repo : `${source.repo}/${source.folder}`;
      return { source: `hf://${path}`, revision: source.revision };
    }
    case 's3':
      return { source: `s3://${source.bucket}/${source.prefix}` };
    case 'https':
      return { source: source.url };
    case 'folder':
      return { source: pathToFileURL(source.path).href };
  }
}

/** The last part of its path, as a slug: a name for a model that got none. */
export function sourceName(source: ModelSource): string {
  const text = source.kind === 'hub' ? `${source.repo}/${source.folder}` : sourceFields(source).source;
  return slugOf(text.split('/').filter(Boolean).at(-1) ?? '');
}

/** A name that models.yaml takes, as near as possible to this one. */
export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 48) || 'model';

/**
 * The name of its folder in the cache. Another source, revision, variant or file has another folder, so a running engine never sees
 * its files replaced.
 */
export function sourceFolder(source: ModelSource, variant: string | undefined, file?: string): string {
  const text = JSON.stringify([sourceFields(source), variant ?? '', ...(file === undefined ? [] : [file])]);
  const name = file === undefined ? sourceName(source) : slugOf(file.replace(/\.safetensors$/, ''));
  return `${name}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
}

function invalid(text: string, why: string): LehrError {
  const forms = 'hf://owner/name[/folder], s3://bucket/prefix, https://host/folder/, file:///folder';
  return new LehrError(
    'invalid-request',
    `${JSON.stringify(text)} is not a source of a model: ${why}. Wanted: ${forms}.`,
  );
}
