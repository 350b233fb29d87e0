/** The settings of the next picture. They belong to the page and not to a component: going to another view keeps them. */
import type { Job, JobRequest } from '@lehr/client';
import type { PromptSyntax } from '@lehr/shared/prompts';
import { computed, signal } from '@preact/signals';
import { drawing, loadModels, models, type PictureModel } from './models.ts';

export type Sampler = PictureModel['samplers'][number];

export interface Settings {
  readonly prompt: string;
  readonly negative: string;
  /** Of both. */
  readonly syntax: PromptSyntax;
  readonly model: string;
  /** Empty: by the shares of the versions. */
  readonly version: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly guidance: number;
  readonly sampler: Sampler;
  readonly n: number;
  readonly seed: number;
  /** Otherwise each job gets a new seed. */
  readonly keepsSeed: boolean;
  /** How strongly each adapter of the model acts, by its name; the others do not. */
  readonly adapters: Readonly<Record<string, number>>;
}

export const MAX_SEED = 2 ** 32 - 1;

export const settings = signal<Settings>({
  prompt: '',
  negative: '',
  syntax: 'weighted',
  model: '',
  version: '',
  width: 0,
  height: 0,
  steps: 0,
  guidance: 0,
  sampler: 'ddim',
  n: 1,
  seed: randomSeed(),
  keepsSeed: false,
  adapters: {},
});

export const model = computed(() => models.value?.find(({ id }) => id === settings.value.model));

export function change(next: Partial<Settings>): void {
  settings.value = { ...settings.value, ...next };
}

/** With the model's own defaults. */
export function chooseModel(id: string): void {
  const chosen = models.value?.find((each) => each.id === id);
  if (!chosen) return;
  const { width, height, steps, guidance, sampler } = chosen.defaults;
  const n = Math.min(settings.value.n, chosen.limits.max_samples);
  const { model: before, adapters } = settings.value;
  const kept = before === id ? adapters : {};
  change({ model: id, version: '', width, height, steps, guidance, sampler, n, adapters: kept });
}

/** Whatever view asks first: loads the models, and chooses one where the form has none yet. */
export async function loadForm(): Promise<void> {
  await loadModels();
  const [first] = [...(drawing.value ?? []), ...(models.value ?? [])];
  const preferred = drawing.value?.find((each) => each.default) ?? first;
  if (preferred && settings.value.model === '') chooseModel(preferred.id);
}

export function throwDice(): void {
  change({ seed: randomSeed(), keepsSeed: true });
}

/** Takes over what an earlier job was made with; of a model that is not offered any more, its prompts. */
export async function takeOver({ model: ref, input }: Pick<Job, 'model' | 'input'>): Promise<void> {
  await loadForm();
  change({
    prompt: String(input.prompt ?? ''),
    negative: String(input.negative_prompt ?? ''),
    syntax: input.prompt_syntax === 'weighted' ? 'weighted' : 'plain',
  });
  const [id, version] = ref.split('@');
  if (!models.value?.some((each) => each.id === id)) return;
  chooseModel(id);
  const known = settings.value;
  const number = (name: string, other: number): number =>
    typeof input[name] === 'number' ? input[name] : other;
  const { samplers, versions } = model.value ?? { samplers: [], versions: [] };
  change({
    version: versions.length > 1 && versions.some((each) => each.version === version) ? version : '',
    width: number('width', known.width),
    height: number('height', known.height),
    steps: number('steps', known.steps),
    guidance: number('guidance', known.guidance),
    n: number('n', 1),
    seed: number('seed', known.seed),
    keepsSeed: true,
    sampler: samplers.find((each) => each === input.sampler) ?? known.sampler,
    adapters: adaptersOf(input.adapters),
  });
}

/** Of a job, those that its model still has. */
function adaptersOf(used: unknown): Settings['adapters'] {
  const scales = new Map((Array.isArray(used) ? used : []).map(({ name, scale }) => [name, Number(scale)]));
  return Object.fromEntries(
    (model.value?.adapters ?? []).flatMap(({ name }) => {
      const scale = scales.get(name);
      return scale === undefined ? [] : [[name, scale]];
    }),
  );
}

/** The request for these settings; `picture` has the fields of the pictures that it begins at and that guide it. */
export function requestOf(now: Settings, picture: Readonly<Record<string, unknown>>): JobRequest {
  return {
    type: 'text-to-image',
    model: now.version === '' ? now.model : `${now.model}@${now.version}`,
    input: {
      prompt: now.prompt,
      ...(now.negative !== '' && { negative_prompt: now.negative }),
      prompt_syntax: now.syntax,
      width: now.width,
      height: now.height,
      steps: now.steps,
      guidance: now.guidance,
      sampler: now.sampler,
      seed: now.seed,
      n: now.n,
      ...(Object.keys(now.adapters).length > 0 && {
        adapters: Object.entries(now.adapters).map(([name, scale]) => ({ name, scale })),
      }),
      ...picture,
    },
  } as JobRequest;
}

export function randomSeed(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0];
}
