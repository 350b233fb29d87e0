import {
  type DiffusionModelEntry,
  groupQueueName,
  type Hires,
  newJobId,
  parseGroupQueueName,
  parseRegistry,
  rowsOfTransform,
  type SamplerName,
  type TextToImageRequest,
  transformCostMs,
  type WorkerStatus,
} from '@lehr/shared';
import { expect, test } from 'vitest';
import { resolveUpscaler } from './complete-hires.ts';
import { completeInput } from './complete-input.ts';
import { priceOf } from './price.ts';
import { fractionOf, groupOf } from './resolve.ts';

const input = { width: 64, height: 96, steps: 8, sampler: 'euler', guidance: 4 } as Parameters<
  typeof groupOf
>[0];
const model = { name: 'tiny', version: '1' };
const serving = (batching: 'step' | 'aligned', ref = 'tiny@1') =>
  ({ models: [{ ref, batching, providers: {} }], lanes: [] }) as unknown as WorkerStatus;

test('Jobs of one model and size share a group whatever their steps, sampler and guidance', () => {
  const group = { task: 'diffusion', model, width: 64, height: 96 };
  expect(groupOf(input, model, [])).toEqual(group);
  expect(groupOf(input, model, [serving('step'), serving('aligned', 'tiny@2')])).toEqual(group);
});

test('One worker that batches only aligned jobs makes the group aligned, because every worker can run aligned jobs', () => {
  expect(groupOf(input, model, [serving('step'), serving('aligned')]).aligned).toEqual({
    steps: 8,
    sampler: 'euler',
    guidance: 4,
  });
});

test('Ids spread evenly between 0 and 1, and an id always gives the same value', () => {
  const ids = Array.from({ length: 4000 }, newJobId);
  const fractions = ids.map(fractionOf);
  expect(fractions).toEqual(ids.map(fractionOf));
  expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...fractions)).toBeLessThan(1);
  for (const quarter of [0, 0.25, 0.5, 0.75]) {
    const share = fractions.filter((each) => each >= quarter && each < quarter + 0.25).length / ids.length;
    expect(Math.abs(share - 0.25)).toBeLessThan(0.05);
  }
});

test.each([1e-320, 1e-7, 1 / 3, 7.5, 50])(
  'The name of an aligned group with guidance %d parses back to the same group',
  (guidance) => {
    const { model: entry } = parseRegistry(
      'models: [{ name: tiny, task: diffusion, versions: [{ version: "1", path: t }] }]',
    ).resolve('diffusion', 'tiny', 0);
    const group = groupOf(completeInput({ prompt: 'x', guidance }, entry), model, [serving('aligned')]);
    expect(parseGroupQueueName(groupQueueName(group))).toEqual(group);
  },
);

const entryOf = (family: string) =>
  parseRegistry(
    `models: [{ name: m, task: diffusion, family: ${family}, versions: [{ version: "1", path: m }] }]`,
  ).resolve('diffusion', 'm', 0).model;

test('SDXL takes the sizes of a picture, and they are stored only where the caller gave them', () => {
  const request: TextToImageRequest = {
    prompt: 'x',
    original_size: [512, 768],
    crops_coords_top_left: [0, 64],
  };
  const input = completeInput(request, entryOf('sdxl'));
  expect(input).toMatchObject(request);
  expect(input).not.toHaveProperty('target_size');
});

const BEGUN = { image: 'https://x.example/a.png' };
const AROUND = { left: 0, right: 0, top: 0, bottom: 0 };

test('An edit has the size of its picture and of what is drawn around it, where the model allows that size', () => {
  const [picture, masked] = [
    { width: 512, height: 384 },
    { prompt: 'x', ...BEGUN, mask: 'https://x.example/m.png' },
  ];
  const sizeOf = (request: TextToImageRequest, known = picture) => {
    const { width, height } = completeInput(request, entryOf('sd'), known);
    return [width, height];
  };
  expect(sizeOf(masked)).toEqual([512, 384]);
  expect(sizeOf({ prompt: 'x', ...BEGUN, expand: { ...AROUND, left: 64, bottom: 128 } })).toEqual([576, 512]);
  expect(sizeOf(masked, { width: 500, height: 384 })).toEqual([512, 512]);
  expect(sizeOf(masked, { width: 4096, height: 4096 })).toEqual([512, 512]);
  expect(sizeOf({ ...masked, width: 256 })).toEqual([256, 512]);
  expect(sizeOf({ ...masked, only_masked: { padding: 0 } })).toEqual([512, 512]);
  expect(sizeOf({ prompt: 'x', ...BEGUN })).toEqual([512, 512]);
});

test('An inpainting model needs a picture and what of it is drawn, and draws it in all of its steps', () => {
  const problems = (fields: object) => {
    try {
      return completeInput({ prompt: 'x', ...fields }, entryOf('sd-inpaint'));
    } catch (error) {
      return (error as { problems: unknown }).problems;
    }
  };
  expect(problems({})).toEqual([
    {
      pointer: '/input/image',
      detail: 'is missing: m is an inpainting model, which draws a part of a picture',
    },
  ]);
  expect(problems(BEGUN)).toEqual([
    { pointer: '/input/mask', detail: 'is missing: m is an inpainting model; it needs a mask, or expand' },
  ]);
  expect(problems({ ...BEGUN, mask: 'https://x.example/m.png' })).toMatchObject({ strength: 1 });
});

test('A mask is stored with its defaults and takes three quarters of the steps, whatever the family', () => {
  const masked = { prompt: 'x', image: 'https://x.example/a.png', mask: 'https://x.example/mask.png' };
  for (const family of ['sd', 'sdxl']) {
    expect(completeInput(masked, entryOf(family))).toMatchObject({
      mask_blur: 0,
      mask_fill: 'original',
      strength: 0.75,
    });
    expect(completeInput({ ...masked, mask_fill: 'noise' }, entryOf(family)).strength).toBe(1);
  }
  expect(completeInput({ ...masked, mask_blur: 4, strength: 0.5 }, entryOf('sd'))).toMatchObject({
    mask_blur: 4,
    strength: 0.5,
  });
});

test.each([
  ['mask', { mask: 'https://x.example/mask.png' }, 'needs an image'],
  ['mask_blur', { ...BEGUN, mask_blur: 4 }, 'needs a mask, or expand'],
  ['mask_invert', { ...BEGUN, mask_invert: true }, 'needs a mask'],
  ['mask_fill', { ...BEGUN, mask_fill: 'noise' as const }, 'needs a mask, or expand'],
  ['only_masked', { ...BEGUN, only_masked: { padding: 8 } }, 'needs a mask'],
  ['expand', { expand: { ...AROUND, left: 8 } }, 'needs an image'],
  ['expand', { ...BEGUN, expand: AROUND }, 'must be above 0 on a side'],
  [
    'expand',
    { ...BEGUN, mask: 'https://x.example/m.png', expand: { ...AROUND, top: 8 } },
    'cannot be used with a mask',
  ],
])('The field %s without what it is for is refused', (field, fields, detail) => {
  expect(() => completeInput({ prompt: 'x', ...fields }, entryOf('sd'))).toThrow(
    expect.objectContaining({ code: 'invalid-input', problems: [{ pointer: `/input/${field}`, detail }] }),
  );
});

test('An edit may have a second pass, which enlarges its pixels, and be a part of the schedule', () => {
  const edited = { prompt: 'x', ...BEGUN, mask: 'https://x.example/m.png', width: 512, height: 512 };
  expect(completeInput({ ...edited, hires: {} }, entryOf('sd')).hires).toMatchObject({
    upscaler: 'lanczos',
    strength: 0.4,
    width: 1024,
  });
  expect(completeInput({ ...edited, hires: { upscaler: 'latent' } }, entryOf('sd')).hires).toMatchObject({
    upscaler: 'latent',
    strength: 0.7,
  });
  expect(completeInput({ ...edited, denoising_end: 0.8 }, entryOf('sdxl'))).toMatchObject({
    denoising_end: 0.8,
    strength: 0.75,
  });
  const refined = { ...edited, image: '{{base.latent}}', denoising_start: 0.8 };
  expect(completeInput(refined, entryOf('sdxl-refiner'))).toMatchObject({ denoising_start: 0.8 });
  expect(completeInput(refined, entryOf('sdxl-refiner'))).not.toHaveProperty('strength');
});

test.each([
  ['only_masked', { only_masked: { padding: 8 } }],
  ['expand', { mask: undefined, expand: { ...AROUND, top: 8 } }],
  ['hires', { hires: {} }],
  ['mask_fill', { mask_fill: 'noise' as const }],
])('The field %s of an edit needs the pixels that a latent does not have', (field, fields) => {
  const edited = { prompt: 'x', image: '{{base.latent}}', mask: 'https://x.example/m.png', ...fields };
  expect(problemsOf(edited, entryOf('sd'))).toMatchObject([{ pointer: `/input/${field}` }]);
});

test('Noise in the latent is refused in the middle of the schedule, and a latent by an inpainting model', () => {
  const edited = { prompt: 'x', image: '{{base.latent}}', mask: 'https://x.example/m.png' };
  expect(
    problemsOf({ ...edited, mask_fill: 'latent_noise', denoising_start: 0.5 }, entryOf('sd')),
  ).toMatchObject([{ pointer: '/input/mask_fill' }]);
  expect(problemsOf({ ...edited, denoising_start: 0.5 }, entryOf('sdxl-inpaint'))).toMatchObject([
    { pointer: '/input/image' },
  ]);
});

test('Another family refuses the sizes of a picture, and names each field', () => {
  const request: TextToImageRequest = { prompt: 'x', target_size: [512, 512] };
  expect(() => completeInput(request, entryOf('sd-turbo'))).toThrow(
    expect.objectContaining({
      code: 'invalid-input',
      problems: [
        { pointer: '/input/target_size', detail: 'is for SDXL models, and m is of the family sd-turbo' },
      ],
    }),
  );
});

test('A distilled model draws with the few steps and the sampler of its family', () => {
  expect(completeInput({ prompt: 'x' }, entryOf('sdxl-turbo'))).toMatchObject({
    width: 512,
    steps: 1,
    guidance: 0,
    sampler: 'euler_a',
  });
  expect(() => completeInput({ prompt: 'x', sampler: 'euler' }, entryOf('lcm'))).toThrow(
    expect.objectContaining({
      problems: [{ pointer: '/input/sampler', detail: 'is euler, must be one of: lcm' }],
    }),
  );
});

test('One step is refused where the schedule would return its noise, and left to the worker where the folder is not here', () => {
  const traits = { family: 'sd', guidance: 'rows', side: 64, sizeStep: 8, takesPictures: false } as const;
  const oneStep = (sampler: SamplerName, isTrailing?: boolean): readonly unknown[] => {
    const folder = isTrailing === undefined ? undefined : { ...traits, isTrailing };
    const text = 'models: [{ name: m, task: diffusion, versions: [{ version: "1", path: m }] }]';
    const { model } = parseRegistry(text, () => folder).resolve('diffusion', 'm', 0);
    return problemsOf({ prompt: 'x', steps: 1, sampler }, model);
  };
  const refused = [{ pointer: '/input/steps', detail: 'is 1, must be at least 2 with ddim on m' }];
  expect(oneStep('ddim', false)).toEqual(refused);
  expect([oneStep('ddim', true), oneStep('ddim'), oneStep('dpmpp_2m', false)]).toEqual([[], [], []]);
});

const PICTURE = { prompt: 'x', image: 'https://x.example/a.png' };
const problemsOf = (request: TextToImageRequest, model: string | DiffusionModelEntry = 'sd') => {
  try {
    completeInput(request, typeof model === 'string' ? entryOf(model) : model);
    return [];
  } catch (error) {
    return (error as { problems: readonly unknown[] }).problems;
  }
};

test('A picture that begins at another one has the strength of its family, and steps of which at least one is made', () => {
  expect(completeInput(PICTURE, entryOf('sd'))).toMatchObject({ strength: 0.8, steps: 20 });
  expect(completeInput(PICTURE, entryOf('sdxl'))).toMatchObject({ strength: 0.3, steps: 30 });
  expect(completeInput(PICTURE, entryOf('sd-turbo'))).toMatchObject({ strength: 0.5, steps: 2 });
  expect(completeInput({ ...PICTURE, strength: 0.02 }, entryOf('sd'))).toMatchObject({ steps: 50 });
  expect(completeInput({ prompt: 'x' }, entryOf('sd'))).not.toHaveProperty('strength');
});

test('A strength that leaves no step, or has no picture, is refused and named', () => {
  const pointer = '/input/strength';
  const atLeast = (steps: number, strength: number) =>
    `must leave at least one step: ${steps} steps times strength must be at least 1; it is ${strength}`;
  expect(problemsOf({ prompt: 'x', strength: 0.5 })).toEqual([{ pointer, detail: 'needs an image' }]);
  expect(problemsOf({ ...PICTURE, steps: 4, strength: 0.2 })).toEqual([{ pointer, detail: atLeast(4, 0.2) }]);
  expect(problemsOf({ ...PICTURE, strength: 0 })).toEqual([{ pointer, detail: atLeast(20, 0) }]);
});

test('Prompts are read as the model says, then as the request says; what the family does anyway is not stored', () => {
  const text = (defaults: string): string =>
    `models: [{ name: m, task: diffusion, versions: [{ version: "1", path: m }], defaults: ${defaults} }]`;
  const of = (defaults: string, request: Partial<TextToImageRequest> = {}) => {
    const entry = parseRegistry(text(defaults)).resolve('diffusion', 'm', 0).model;
    const { prompt_syntax, clip_skip } = completeInput({ prompt: 'x', ...request }, entry);
    return [prompt_syntax, clip_skip];
  };
  expect(of('{}')).toEqual([undefined, undefined]);
  expect(of('{}', { prompt_syntax: 'weighted', clip_skip: 2 })).toEqual(['weighted', 2]);
  expect(of('{ prompt_syntax: weighted, clip_skip: 2 }')).toEqual(['weighted', 2]);
  const asFamily = { prompt_syntax: 'plain', clip_skip: 1 } as const;
  expect(of('{ prompt_syntax: weighted, clip_skip: 2 }', asFamily)).toEqual([undefined, undefined]);
});

test('SDXL was trained with the last layer but one, and refuses the last one', () => {
  expect(completeInput({ prompt: 'x', clip_skip: 2 }, entryOf('sdxl'))).not.toHaveProperty('clip_skip');
  expect(problemsOf({ prompt: 'x', clip_skip: 1 }, 'sdxl')).toEqual([
    {
      pointer: '/input/clip_skip',
      detail: expect.stringContaining('is 1, must be at least 2'),
    },
  ]);
});

test('Before a worker has measured it, a model with adapters is priced for the work that they add; after that, as measured', () => {
  const text = (count: number): string => {
    const adapters = Array.from({ length: count }, (_, i) => `{ name: a${i}, path: a.safetensors }`);
    return `models: [{ name: m, task: diffusion, versions: [{ version: "1", path: m }], adapters: [${adapters}] }]`;
  };
  const price = (count: number, fleet: readonly WorkerStatus[] = []): number => {
    const entry = parseRegistry(text(count)).resolve('diffusion', 'm', 0).model;
    const input = completeInput({ prompt: 'x' }, entry);
    return priceOf(input, groupOf(input, model, fleet), fleet, entry);
  };
  expect(price(2) / price(0)).toBeCloseTo(1.04, 3);
  expect(price(64) / price(0)).toBeCloseTo(1.32, 3);
  const lanes = [{ queue: 'diffusion.tiny@1.512x512', row_steps_per_s: 10 }];
  const measured = [{ models: [], lanes }] as unknown as WorkerStatus[];
  expect(price(64, measured)).toBe(price(0, measured));
});

test('A picture is priced by the steps that it makes', () => {
  const price = (request: TextToImageRequest, family = 'sd'): number => {
    const entry = entryOf(family);
    const input = completeInput(request, entry);
    return priceOf(input, groupOf(input, model, []), [], entry);
  };
  const half = { ...PICTURE, steps: 20, strength: 0.5 };
  expect(price(half) / price({ prompt: 'x', steps: 20 })).toBeCloseTo(0.5, 2);
  expect(
    price({ prompt: 'x', steps: 20, denoising_end: 0.8 }) / price({ prompt: 'x', steps: 20 }),
  ).toBeCloseTo(0.8, 2);
  // A latent consistency model makes all of them.
  expect(price({ ...PICTURE, steps: 4, strength: 0.5 }, 'lcm')).toBe(price({ prompt: 'x', steps: 4 }, 'lcm'));
});

test('A part of the schedule takes the place of the strength, and the whole schedule is the default', () => {
  const latent = { prompt: 'x', image: '{{base.latent}}', denoising_start: 0.8 };
  expect(completeInput({ prompt: 'x', denoising_end: 0.8 }, entryOf('sdxl'))).toMatchObject({
    denoising_end: 0.8,
  });
  expect(completeInput(latent, entryOf('sdxl-refiner'))).toMatchObject({ denoising_start: 0.8 });
  expect(completeInput(latent, entryOf('sdxl-refiner'))).not.toHaveProperty('strength');
  const whole = { denoising_start: 0, denoising_end: 1 };
  expect(completeInput({ ...PICTURE, ...whole }, entryOf('sd'))).toMatchObject({ strength: 0.8 });
  for (const field of Object.keys(whole))
    expect(completeInput({ ...PICTURE, ...whole }, entryOf('sd'))).not.toHaveProperty(field);
});

test('A part of the schedule that cannot be made is refused and named', () => {
  expect(problemsOf({ prompt: 'x', denoising_start: 0.5 })).toEqual([
    { pointer: '/input/denoising_start', detail: 'needs an image, which the steps begin at' },
  ]);
  expect(problemsOf({ ...PICTURE, denoising_start: 0.5, strength: 0.5 })).toEqual([
    { pointer: '/input/strength', detail: 'cannot be given beside denoising_start' },
  ]);
  expect(problemsOf({ ...PICTURE, denoising_start: 0.5, denoising_end: 0.5 })).toEqual([
    { pointer: '/input/denoising_end', detail: 'is 0.5, must be above denoising_start, which is 0.5' },
  ]);
});

test('A strength that leaves no step is refused also where the steps end early', () => {
  const pointer = '/input/strength';
  const detail = (steps: number, strength: number): string =>
    `must leave at least one step: ${steps} steps times strength must be at least 1; it is ${strength}`;
  for (const strength of [0, 0.01])
    expect(problemsOf({ ...PICTURE, steps: 20, denoising_end: 0.8, strength })).toEqual([
      { pointer, detail: detail(20, strength) },
    ]);
  // A latent consistency model makes all steps of any strength above 0.
  expect(problemsOf({ ...PICTURE, steps: 4, strength: 0 }, 'lcm')).toEqual([
    { pointer, detail: detail(4, 0) },
  ]);
});

test('A second pass is twice as large, with the steps of the first and a strength that fits its upscaler', () => {
  const hires = (
    fields: TextToImageRequest['hires'],
    request: Partial<TextToImageRequest> = {},
    family = 'sd',
  ) => completeInput({ prompt: 'x', hires: fields, ...request }, entryOf(family)).hires;
  const size = { width: 1024, height: 1024 };
  expect(hires({})).toEqual({ scale: 2, steps: 20, strength: 0.7, upscaler: 'latent', ...size });
  expect(hires({ upscaler: 'lanczos' })).toMatchObject({ strength: 0.4 });
  // Sides are multiples of the size step.
  expect(hires({ scale: 1.3 }, { width: 512, height: 504 })).toMatchObject({ width: 664, height: 656 });
  // Of one step, nothing would be left.
  expect(hires({ strength: 0.3 }, {}, 'sd-turbo')).toMatchObject({ steps: 4 });
  expect(completeInput({ prompt: 'x' }, entryOf('sd'))).not.toHaveProperty('hires');
});

test('The upscaler of a second pass is a model that the entry lists, at the version that workers have open', () => {
  const registry = parseRegistry(`models:
    - { name: tiny, task: diffusion, upscalers: [larger], versions: [{ version: "1", path: t }] }
    - { name: larger, aliases: [big], task: transform, result: picture, scale: 4, versions: [{ version: "1", path: a }, { version: "2", path: b, weight: 2 }] }
    - { name: other, task: transform, result: picture, versions: [{ version: "1", path: o }] }`);
  const { model: entry } = registry.resolve('diffusion', 'tiny', 0);
  const resolved = (wanted: string) => resolveUpscaler(registry, entry, wanted);
  expect([resolved('latent'), resolved('lanczos')]).toEqual(['latent', 'lanczos']);
  expect([resolved('larger'), resolved('big'), resolved('larger@2')]).toEqual(Array(3).fill('larger@2'));
  const detail = 'must be one of: latent, lanczos, larger';
  for (const wanted of ['other', 'tiny', 'none', 'Latent', 'larger@1']) {
    expect(() => resolved(wanted)).toThrow(
      expect.objectContaining({ problems: [{ pointer: '/input/hires/upscaler', detail }] }),
    );
  }
  const hires = { upscaler: 'larger@1' };
  const input = completeInput({ prompt: 'x', hires }, entry);
  expect(input.hires).toMatchObject({ upscaler: 'larger@1', strength: 0.4 });
  // The tiles of the first pass are paid for, of each picture.
  const price = (upscaler: string) =>
    priceOf(
      { ...input, n: 2, hires: { ...hires, ...input.hires, upscaler } as Hires },
      groupOf(input, model, []),
      [],
    );
  const tiles = 2 * rowsOfTransform('picture', input);
  expect(price('larger@1') - price('lanczos')).toBe(transformCostMs(tiles));
});

test('A second pass beyond the limits of its model is refused, and each field is named', () => {
  const problem = (
    hires: TextToImageRequest['hires'],
    more: Partial<TextToImageRequest> = {},
    family = 'sd',
  ) => problemsOf({ prompt: 'x', hires, ...more }, entryOf(family));
  const pointer = '/input/hires/scale';
  const tooMany = 'makes 2048x2048 pixels, which are 4194304; at most 1048576 are allowed';
  expect(problem({}, {}, 'sdxl')).toEqual([{ pointer, detail: tooMany }]);
  const tooLong = 'makes 1536x1536 pixels; a side may have at most 1024';
  expect(problem({ scale: 3 })).toEqual([{ pointer, detail: tooLong }]);
  expect(problem({ steps: 1000 })).toMatchObject([{ pointer: '/input/hires/steps' }]);
  for (const wrong of [{ strength: 0 }, { steps: 2, strength: 0.3 }])
    expect(problem(wrong)).toMatchObject([{ pointer: '/input/hires/strength' }]);
  expect(problem({}, { denoising_end: 0.5 })).toMatchObject([{ pointer: '/input/hires' }]);
});

test('A second pass is priced by its own rows and pixels', () => {
  const entry = entryOf('sd');
  const price = (request: TextToImageRequest): number => {
    const input = completeInput(request, entry);
    return priceOf(input, groupOf(input, model, []), [], entry);
  };
  const small = price({ prompt: 'x', steps: 20 });
  const large = price({ prompt: 'x', steps: 10, width: 1024, height: 1024 });
  const both = price({ prompt: 'x', steps: 20, hires: { steps: 20, strength: 0.5 } });
  expect(Math.abs(both - small - large)).toBeLessThanOrEqual(1);
});

test('A refiner needs a picture, and takes no target size', () => {
  expect(problemsOf({ prompt: 'x' }, 'sdxl-refiner')).toEqual([
    { pointer: '/input/image', detail: 'is missing: m is a refiner, which improves a picture' },
  ]);
  expect(problemsOf({ ...PICTURE, original_size: [512, 512] }, 'sdxl-refiner')).toEqual([]);
  expect(problemsOf({ ...PICTURE, target_size: [512, 512] }, 'sdxl-refiner')).toMatchObject([
    { pointer: '/input/target_size' },
  ]);
});
