/** Changes the text of models.yaml and keeps its comments and its order. */
import { type Document, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { LehrError } from '../base/errors.ts';
import type { ModelRef, Task } from '../contracts/group.ts';
import type { SourceFields } from './cache/source.ts';
import type { Tuned, TunedSettings } from './models-schema.ts';
import { parseRegistry } from './registry.ts';

export interface NewVersion extends Partial<SourceFields> {
  readonly ref: ModelRef;
  readonly task: Task;
  /** In place of a source: its folder, as models.yaml has it. */
  readonly path?: string;
  /** Its share of the jobs that name no version, when there are other versions already. */
  readonly weightBeside?: number;
  /** More fields of the model; used only when it is new. */
  readonly model?: Readonly<Record<string, unknown>>;
}

/** Returns the text with this version, in place of an earlier one with the same name. An empty text begins a new file. */
export function withVersion(text: string, { ref, task, model, weightBeside, ...fields }: NewVersion): string {
  const document = parseDocument(text.trim() === '' ? 'models: []\n' : text);
  const models = seqAt(document, 'models');
  const entry = findNamed(models, 'name', ref.name);
  const weight = entry ? weightBeside : undefined;
  const version = Object.fromEntries(
    Object.entries({ version: ref.version, ...fields, weight }).filter(([, value]) => value !== undefined),
  );
  if (!entry) {
    // A flow-style list, as in "models: []", would put the whole model on one line.
    models.flow = false;
    models.add(document.createNode({ name: ref.name, task, ...model, versions: [version] }));
  } else {
    if (entry.get('task') !== task) throw otherTask(ref.name, entry.get('task'), task);
    const versions = seqOf(entry.get('versions'), `the versions of ${ref.name}`);
    const index = versions.items.indexOf(findNamed(versions, 'version', ref.version));
    if (index < 0) versions.add(document.createNode(version));
    else versions.set(index, document.createNode(version));
  }
  return checked(document);
}

/**
 * Returns the text with this adapter or ControlNet of a model. Throws LehrError `model-not-found` where it has no such model, `conflict` when
 * the name is taken.
 */
export function withPart(
  text: string,
  model: string,
  list: 'adapters' | 'controls',
  part: { readonly name: string } & Readonly<Record<string, unknown>>,
): string {
  const document = parseDocument(text);
  const entry = findNamed(seqAt(document, 'models'), 'name', model);
  if (!entry) throw new LehrError('model-not-found', `models.yaml has no ${model}.`);
  if (!entry.has(list)) entry.set(list, document.createNode([]));
  const parts = seqOf(entry.get(list), `"${list}" of ${model}`);
  if (findNamed(parts, 'name', part.name))
    throw new LehrError('conflict', `${model} has "${part.name}" in its ${list} already.`);
  // As `withVersion` does.
  parts.flow = false;
  parts.add(document.createNode(part));
  return checked(document);
}

/** What the entry of a model says of its use: all but its names, its versions and its description. */
export function fieldsOfModel(text: string, name: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(text);
  const entry = findNamed(seqAt(document, 'models'), 'name', name);
  const {
    name: _,
    aliases,
    versions,
    description,
    default: isDefault,
    task,
    ...fields
  } = entry?.toJS(document) ?? {};
  return fields;
}

/** Returns the text with these settings for workers whose first device is `device`, in place of earlier ones. */
export function withTuned(text: string, ref: ModelRef, device: keyof Tuned, settings: TunedSettings): string {
  const document = parseDocument(text);
  const { found } = versionAt(document, ref);
  found.setIn(['tuned', device], document.createNode(settings, { flow: true }));
  return checked(document);
}

/** Returns the text without this version, and without its model when it was the only one. */
export function withoutVersion(text: string, ref: ModelRef): string {
  const document = parseDocument(text);
  const { name, version } = ref;
  const { models, entry, versions, found } = versionAt(document, ref);
  if (versions.items.length > 1) versions.delete(versions.items.indexOf(found));
  else models.delete(models.items.indexOf(entry));
  if (models.items.length === 0) {
    throw new LehrError('conflict', `${name}@${version} is the only model; models.yaml needs at least one.`);
  }
  return checked(document);
}

function versionAt(document: Document, { name, version }: ModelRef) {
  const models = seqAt(document, 'models');
  const entry = findNamed(models, 'name', name);
  const versions = entry && seqOf(entry.get('versions'), `the versions of ${name}`);
  const found = versions && findNamed(versions, 'version', version);
  if (!entry || !versions || !found) {
    throw new LehrError('model-not-found', `models.yaml has no ${name}@${version}.`);
  }
  return { models, entry, versions, found };
}

/** Throws `invalid-request` when the result would not be a models.yaml: the file is not changed then. */
function checked(document: Document): string {
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true });
  parseRegistry(text);
  return text;
}

const seqAt = (document: Document, key: string): YAMLSeq => seqOf(document.get(key), `"${key}"`);

function seqOf(node: unknown, what: string): YAMLSeq {
  if (isSeq(node)) return node;
  throw new LehrError('invalid-request', `models.yaml cannot be changed: ${what} is not a list.`);
}

/** Versions may be written as numbers. */
const findNamed = (list: YAMLSeq, key: string, wanted: string): YAMLMap | undefined =>
  list.items.find((item): item is YAMLMap => isMap(item) && String(item.get(key)) === wanted);

const otherTask = (name: string, is: unknown, wanted: Task): LehrError =>
  new LehrError(
    'conflict',
    `${name} is a model of the task ${String(is)}; this one is for ${wanted}. Choose another name.`,
  );
