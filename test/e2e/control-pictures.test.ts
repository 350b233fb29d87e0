/** Pictures that other pictures guide through ControlNets, through all of Lehr: real processes, and graphs of diffusers. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cannyEdges } from '../../apps/worker/src/parent/runs/canny.ts';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import { pngTexts } from '../../packages/shared/src/index.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { pixelData } from '../support/picture-file.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { addTransformModels, tempFolder } from '../support/tiny-models.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const SIDE = 64;

/** A model with two ControlNets that can be used, and one whose folder is not there. */
async function guidedModels(): Promise<string> {
  const folder = await tempFolder('control');
  for (const fixture of ['sd15-image', 'sd15-control']) unpackFixture(fixture, join(folder, 'sd15'));
  const file = join(folder, 'models.yaml');
  await writeFile(
    file,
    `models:
  - name: guided
    task: diffusion
    default: true
    versions: [{ version: "1", path: sd15 }]
    defaults: { width: ${SIDE}, height: ${SIDE}, steps: 4, guidance: 5, sampler: ddim }
    limits: { min_size: 16, max_size: 256, size_step: 8 }
    controls:
      - { name: edges, path: sd15/controls/edges, preprocess: canny }
      - { name: depth, path: sd15/controls/depth, preprocess: marks }
      - { name: missing, path: nowhere }
`,
  );
  await addTransformModels(file);
  return file;
}

const dataUri = (bytes: Uint8Array): string =>
  `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;

async function fileOf(stack: Stack, id: string): Promise<Uint8Array> {
  const { output, error } = await stack.over(id);
  expect(error).toBeNull();
  return new Uint8Array(await (await fetch(output?.images?.[0].url ?? '')).arrayBuffer());
}

test('Pictures guide a drawing with Canny made by the worker, with a mask made by a model, and as they are; what is wrong fails its job alone', async () => {
  const models = await guidedModels();
  const stack = await startStack(server, { LEHR_MODELS: models });
  const worker = await stack.worker();
  await worker.logged('ControlNet cannot be used; the model serves without it');
  const photo = await readFile(
    new URL('../../lab/real/diffusion/fixtures/sd15-control/input.png', import.meta.url),
  );
  const raw = await sharp(photo)
    .removeAlpha()
    .resize(SIDE, SIDE, { fit: 'fill', kernel: 'lanczos3' })
    .raw()
    .toBuffer();
  const size = { width: SIDE, height: SIDE };
  const edges = await sharp(cannyEdges(raw, size), { raw: { ...size, channels: 3 } })
    .png()
    .toBuffer();
  const draw = (...control: object[]) => stack.post({ seed: 3, ...(control.length > 0 && { control }) });
  const link = await stack.upload('photo.png', photo);
  const jobs = await Promise.all([
    draw(),
    draw({ name: 'edges', image: dataUri(photo) }),
    draw({ name: 'edges', image: link, preprocess: 'canny' }),
    draw({ name: 'edges', image: dataUri(edges), preprocess: 'none' }),
    draw({ name: 'edges', image: dataUri(photo), scale: 0 }),
    draw(
      { name: 'depth', image: dataUri(photo) },
      { name: 'edges', image: dataUri(photo), end: 0.5, scale: 0.7 },
    ),
  ]);
  const files = await Promise.all(jobs.map(({ id }) => fileOf(stack, id)));
  const [plain, byDefault, asked, ready, unscaled, both] = await Promise.all(files.map(pixelData));
  expect(byDefault).not.toBe(plain);
  expect([asked, ready, unscaled]).toEqual([byDefault, byDefault, plain]);
  expect([plain, byDefault]).not.toContain(both);
  expect(JSON.parse(pngTexts(files[5]).get('lehr') ?? '')).toMatchObject({
    control: [
      { name: 'depth', scale: 1, start: 0, end: 1, preprocess: 'marks@1' },
      { name: 'edges', scale: 0.7, start: 0, end: 0.5, preprocess: 'canny' },
    ],
  });
  expect(pngTexts(files[0]).get('lehr')).not.toContain('control');

  const missing = await draw({ name: 'missing', image: dataUri(photo) });
  expect((await stack.over(missing.id)).error).toMatchObject({ code: 'invalid-input' });
  const text = `data:image/png;base64,${Buffer.from('no picture').toString('base64')}`;
  const broken = await draw({ name: 'edges', image: dataUri(photo) }, { name: 'edges', image: text });
  expect((await stack.over(broken.id)).error).toMatchObject({
    code: 'invalid-input',
    detail: expect.stringContaining('control/1/image must be a PNG, JPEG or WebP file'),
  });

  const failureOf = async (input: Record<string, unknown>) =>
    (await stack.over((await stack.post(input)).id)).error;
  const wanted = 'must be a multiple of 64: the UNet of this model cannot draw other sizes';
  expect(await failureOf({ width: SIDE + 8, height: SIDE - 8 })).toMatchObject({
    code: 'invalid-input',
    detail: `/input/width is 72, ${wanted}. /input/height is 56, ${wanted}.`,
  });
  expect(await failureOf({ hires: { scale: 1.1, steps: 2, strength: 1 } })).toMatchObject({
    code: 'invalid-input',
    detail: `/input/hires/scale gives 72x72; each side ${wanted}.`,
  });
});

test('A client of the web UI guides demo-diffusion with a unit of ControlNet, as the native API does', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, { LEHR_MODELS: demoModelsFile() });
  await stack.worker({ LEHR_TASKS: 'diffusion' });
  const shape = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'black' } })
    .composite([
      {
        input: Buffer.from('<svg width="64" height="64"><circle cx="20" cy="40" r="16" fill="white"/></svg>'),
      },
    ])
    .png()
    .toBuffer();
  const request = { prompt: 'a red circle on a blue background', seed: 3, steps: 4, width: 64, height: 64 };
  const unit = { enabled: true, module: 'none', model: 'shapes [0123abcd]', weight: 0.9 };
  const asked = await stack.ask('POST', '/sdapi/v1/txt2img', {
    ...request,
    alwayson_scripts: { controlnet: { args: [{ ...unit, image: shape.toString('base64') }] } },
  });
  expect(asked.status).toBe(200);
  const { images } = (await asked.json()) as { images: string[] };
  const file = Buffer.from(images[0], 'base64');
  expect(pngTexts(file).get('parameters')).toContain(
    'ControlNet 0: "Module: none, Model: shapes, Weight: 0.9,',
  );
  const native = { ...request, prompt_syntax: 'weighted' };
  const control = [{ name: 'shapes', image: dataUri(shape), scale: 0.9 }];
  const [guided, plain] = await Promise.all(
    [{ ...native, control }, native].map(async (input) =>
      pixelData(await fileOf(stack, (await stack.post(input)).id)),
    ),
  );
  expect(await pixelData(file)).toBe(guided);
  expect(plain).not.toBe(guided);
});
