/** Lehr with the demo models of `npm start`, for benches and for the sheet in docs. */
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import { type DiffusionModelEntry, parseRegistry } from '../../packages/shared/src/index.ts';
import { checkScene, type HeldOutPrompt, type Tally, tallyOf } from '../../test/support/scene-checker.ts';
import type { Pixels } from '../../test/support/scene-reading.ts';
import { type Picture, startWholeLehr } from './whole-lehr.ts';

/** How pictures are drawn; the model's defaults apply to absent fields. */
export type DrawOptions = Partial<Pick<Picture, 'steps' | 'guidance' | 'sampler'>>;

type DrawRequest = Pick<Picture, 'prompt' | 'seed'> & Partial<Picture>;

export interface DemoLehr {
  readonly defaults: DiffusionModelEntry['defaults'];
  readonly samplers: DiffusionModelEntry['samplers'];
  /** PNG files. */
  draw(requests: readonly DrawRequest[]): Promise<Uint8Array[]>;
  /** Milliseconds from the request to the answer. */
  time(request: DrawRequest): Promise<number>;
  check(prompts: readonly HeldOutPrompt[], options?: DrawOptions): Promise<Tally>;
  close(): Promise<void>;
}

/** Jobs in the queue at the same time: enough for full batches, and few enough that admission refuses none. */
const AT_ONCE = 48;

export async function startDemoLehr(): Promise<DemoLehr> {
  const registry = parseRegistry(await readFile(demoModelsFile(), 'utf8'));
  const { model } = registry.resolve('diffusion', undefined, 0);
  const lehr = await startWholeLehr({
    LEHR_MODELS: demoModelsFile(),
    LEHR_TASKS: 'diffusion',
    LEHR_DEVICE: 'cpu',
    LEHR_ROW_CAP: '16',
  });
  const complete = (request: DrawRequest): Picture => ({ ...model.defaults, ...request });
  const draw = async (requests: readonly DrawRequest[]): Promise<Uint8Array[]> => {
    const files: Uint8Array[] = [];
    for (let at = 0; at < requests.length; at += AT_ONCE)
      files.push(...(await lehr.files(requests.slice(at, at + AT_ONCE).map(complete))));
    return files;
  };
  return {
    defaults: model.defaults,
    samplers: model.samplers,
    draw,
    time: (request) => lehr.draw([complete(request)]),
    check: async (prompts, options = {}) => {
      const files = await draw(
        prompts.map(({ prompt, seed, width, height }) => ({ prompt, seed, width, height, ...options })),
      );
      const pixels = await Promise.all(files.map(pixelsOf));
      return tallyOf(prompts.map(({ spec }, i) => ({ spec, verdict: checkScene(pixels[i], spec) })));
    },
    close: lehr.close,
  };
}

export async function pixelsOf(file: Uint8Array): Promise<Pixels> {
  const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}
