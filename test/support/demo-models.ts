/** Pictures of the shipped demo models, and the scenes that they must draw from recorded speech. */
import sharp from 'sharp';
import type { Job } from '../../packages/shared/src/index.ts';
import { sampleManifest } from './audio-golden.ts';
import type { SceneSpec } from './scene-checker.ts';
import type { Pixels } from './scene-reading.ts';
import type { Stack } from './stack.ts';

/** The first picture of a job that succeeded. */
export async function pictureOf({ status, error, output }: Job): Promise<Pixels> {
  const url = output?.images?.[0].url;
  if (!url) throw new Error(`the job ${status} without a picture: ${JSON.stringify(error)}`);
  const file = await (await fetch(url)).arrayBuffer();
  const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

/** Posts all jobs at once and waits for their pictures. */
export async function drawAll(stack: Stack, inputs: readonly Record<string, unknown>[]): Promise<Pixels[]> {
  const jobs: Job[] = [];
  for (const input of inputs) jobs.push(await stack.post(input));
  return Promise.all(jobs.map(async ({ id }) => pictureOf(await stack.over(id))));
}

const group = (count: number | null, colour: string | null, shape: string | null) => ({
  count,
  colour,
  shape,
  size: null,
});
const BLUE: SceneSpec['background'] = { kind: 'plain', colours: ['blue'] };
/** A sentence that describes no scene is checked only for the colours that it names. */
const SPECS: Readonly<Record<string, SceneSpec>> = {
  'speech/en_circle.wav': { background: BLUE, groups: [group(1, 'red', 'circle')], relation: null },
  'speech/en_stars.wav': {
    background: null,
    groups: [group(2, 'green', 'star'), group(1, 'yellow', 'square')],
    relation: { kind: 'above' },
  },
  'speech/es_circulo.wav': { background: BLUE, groups: [group(1, 'red', 'circle')], relation: null },
  'speech/en_fox.wav': { background: null, groups: [group(null, 'brown', null)], relation: null },
  'speech/en_lighthouse.wav': { background: null, groups: [group(null, null, null)], relation: null },
  'speech/en_numbers.wav': { background: null, groups: [group(null, null, null)], relation: null },
};

export const spokenPrompts = sampleManifest.speech.map((sample) => {
  const spec = SPECS[sample.file];
  if (!spec) throw new Error(`no spec for ${sample.file}`);
  return { ...sample, spec, isScene: spec.groups.every(({ count }) => count !== null) };
});
