/** The adapters of a picture: those that its request lists, and those that tags in its prompt name. */
import {
  AdaptersSchema,
  type AdapterUse,
  type DiffusionModelEntry,
  type FieldProblem,
  LehrError,
  MAX_ADAPTER_SCALE,
  MAX_ADAPTERS,
  slugOf,
  type TextToImageInput,
  type TextToImageRequest,
} from '@lehr/shared';
import { type AdapterTag, takeAdapterTags } from '@lehr/shared/prompts';
import type { JobRecord } from '@lehr/shared/records';

type Model = Pick<DiffusionModelEntry, 'name' | 'adapters'>;

interface Adapted {
  /** What the input has of them: its prompt without the tags. */
  readonly fields: Pick<TextToImageInput, 'prompt' | 'adapters'>;
  readonly problems: readonly FieldProblem[];
}

/** `syntax`: how the prompts are read. In plain prompts a tag is text. */
export function completeAdapters(
  { prompt, negative_prompt = '', adapters: listed = [] }: TextToImageRequest,
  model: Model,
  syntax: DiffusionModelEntry['defaults']['prompt_syntax'],
): Adapted {
  const { text, tags } = syntax === 'weighted' ? takeAdapterTags(prompt) : { text: prompt, tags: [] };
  const ofList = listed.map(({ name, scale }, i) => ({
    ...chosen(model, name, scale),
    pointer: `/input/adapters/${i}/name`,
    fault: model.adapters.some((each) => each.name === name) ? undefined : offered(model),
  }));
  const ofTags = tags.map((tag) => {
    const name = nameOf(tag, model);
    const fault = faultOf(tag, name, model);
    return { ...chosen(model, name ?? tag.name, tag.scale), pointer: '/input/prompt', fault };
  });
  const all = [...ofList, ...ofTags];
  const problems = [
    ...all.flatMap(({ pointer, fault }) => (fault === undefined ? [] : [{ pointer, detail: fault }])),
    ...all.flatMap(({ name, pointer, fault }, i) =>
      fault === undefined && all.findIndex((each) => each.name === name) < i
        ? [{ pointer, detail: `names the adapter ${name} a second time; each can be used once` }]
        : [],
    ),
    ...negativeProblems(syntax === 'weighted' ? negative_prompt : ''),
  ];
  if (all.length > MAX_ADAPTERS) {
    const detail = `makes ${all.length} adapters of one picture; at most ${MAX_ADAPTERS} are allowed`;
    problems.push({ pointer: '/input/prompt', detail });
  }
  const adapters: AdapterUse[] = all.map(({ name, scale }) => ({ name, scale }));
  const drawn = tags.length === 0 ? prompt : text.trim();
  return { fields: { prompt: drawn, ...(adapters.length > 0 && { adapters }) }, problems };
}

/** Throws `conflict` when an adapter of an earlier job is no longer there. */
export function checkAdapters({ adapters }: JobRecord['input'], model: Model): void {
  for (const { name } of AdaptersSchema.safeParse(adapters).data ?? []) {
    if (model.adapters.some((each) => each.name === name)) continue;
    throw new LehrError('conflict', `The job used the adapter ${name}, which ${model.name} no longer has.`);
  }
}

const chosen = ({ adapters }: Model, name: string, scale: number | undefined): AdapterUse => ({
  name,
  scale: scale ?? adapters.find((each) => each.name === name)?.scale ?? 1,
});

/** As models.yaml names it. A file that was imported got its name as a slug, and people know the file's. */
const nameOf = ({ name }: AdapterTag, { adapters }: Model): string | undefined =>
  [name, slugOf(name)].find((wanted) => adapters.some((each) => each.name === wanted));

function faultOf(tag: AdapterTag, name: string | undefined, model: Model): string | undefined {
  const quoted = tag.text.slice(0, 80);
  if (tag.fault !== undefined) return `has ${quoted}, which ${tag.fault}`;
  if (name === undefined) return `has ${quoted}; the name ${offered(model)}`;
  if (Math.abs(tag.scale ?? 0) <= MAX_ADAPTER_SCALE) return undefined;
  return `has ${quoted}; the number must be from -${MAX_ADAPTER_SCALE} to ${MAX_ADAPTER_SCALE}`;
}

const offered = ({ name, adapters }: Model): string =>
  adapters.length === 0
    ? `is unknown: ${name} has no adapters`
    : `must be one of: ${adapters.map((each) => each.name).join(', ')}`;

function negativeProblems(prompt: string): FieldProblem[] {
  const [tag] = takeAdapterTags(prompt).tags;
  if (!tag) return [];
  const detail = `has ${tag.text.slice(0, 80)}; an adapter acts on the whole picture, and is named in the prompt`;
  return [{ pointer: '/input/negative_prompt', detail }];
}
