/** The comparison that is being written. The address keeps it. */
import { computed, signal } from '@preact/signals';
import { loadForm, settings } from '../make/form.ts';
import { drawing, type PictureModel } from '../make/models.ts';
import { view } from '../shell/router.ts';
import { type Axis, type Comparison, fromFragment, problemOf, toFragment } from './comparison.ts';
import { made, show } from './making.ts';

export const comparison = signal<Comparison | undefined>(undefined);

export const model = computed(() => drawing.value?.find(({ id }) => id === comparison.value?.model));
export const problem = computed(() => comparison.value && problemOf(comparison.value));

/** From the address, also its batch; and what it does not have from the settings of the next picture. */
export async function openForm(): Promise<void> {
  const { prompt, model: named, batch, ...kept } = fromFragment(location.hash.slice(1));
  await loadForm();
  const offered = (id: string | undefined) => drawing.value?.find((each) => each.id === id);
  const chosen = offered(named) ?? offered(settings.value.model) ?? drawing.value?.[0];
  if (!chosen) return;
  const before = comparison.value ?? firstFor(chosen);
  comparison.value = { ...before, model: chosen.id, ...kept, ...(prompt !== undefined && { prompt }) };
  if (batch !== undefined && made.value?.followed.id !== batch) show(comparison.value, batch);
  keep();
}

export function change(next: Partial<Comparison>): void {
  if (!comparison.value) return;
  comparison.value = { ...comparison.value, ...next };
  keep();
}

export function chooseModel(id: string): void {
  const chosen = drawing.value?.find((each) => each.id === id);
  if (!chosen || !comparison.value) return;
  const { x, y, prompt } = comparison.value;
  change({ ...firstFor(chosen), prompt, x, xs: exampleOf(x, chosen), y, ys: exampleOf(y, chosen) });
}

export function chooseAxis(side: 'x' | 'y', axis: Axis): void {
  const chosen = model.value;
  if (!chosen) return;
  const values = exampleOf(axis, chosen);
  change(side === 'x' ? { x: axis, xs: values } : { y: axis, ys: values });
}

/** The address names the batch as long as the comparison is the one that it was made of. */
export function keep(): void {
  if (!comparison.value || view.value.name !== 'compare') return;
  const fragment = toFragment(comparison.value);
  const isMade = made.value && toFragment(made.value.comparison) === fragment;
  const whole = isMade ? toFragment(comparison.value, made.value?.followed.id) : fragment;
  history.replaceState(history.state, '', `${location.pathname}#${whole}`);
}

function firstFor(chosen: PictureModel): Comparison {
  const { width, height, steps, guidance, sampler } = chosen.defaults;
  return {
    prompt: settings.value.prompt,
    model: chosen.id,
    width: String(width),
    height: String(height),
    steps: String(steps),
    guidance: String(guidance),
    sampler,
    seed: String(settings.value.seed),
    version: '',
    x: 'steps',
    xs: exampleOf('steps', chosen),
    y: 'guidance',
    ys: exampleOf('guidance', chosen),
  };
}

/** Values to begin with. */
function exampleOf(axis: Axis, { defaults, limits, samplers, versions }: PictureModel): string {
  switch (axis) {
    case 'steps': {
      const steps = [defaults.steps / 4, defaults.steps / 2, defaults.steps, defaults.steps * 2];
      return [
        ...new Set(steps.map((each) => Math.min(limits.max_steps, Math.max(1, Math.round(each))))),
      ].join(', ');
    }
    case 'guidance':
      return defaults.guidance <= 1 ? '1' : [1, defaults.guidance, defaults.guidance * 2].join(', ');
    case 'sampler':
      return samplers.slice(0, 4).join(', ');
    case 'seed':
      return '1, 2, 3';
    case 'version':
      return versions.map(({ version }) => version).join(', ');
  }
}
