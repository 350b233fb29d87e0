/** Units of the extension sd-webui-controlnet, with the requests that its clients send. */
import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebUiErrorSchema } from '../../apps/api/src/dialects/a1111/errors.ts';
import { parseRegistry, pngTexts, toObjectKey } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, MODELS } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CONTROLS = `controls:
      - { name: edges, path: edges, preprocess: canny }
      - { name: control_v11f1p_sd15_depth, path: depth, preprocess: marks }`;
const MARKS = `
  - name: marks
    task: transform
    result: mask
    versions: [{ version: "1", path: marks }]
`;
const controlWorld = (): Promise<ApiWorld> => {
  const models = MODELS.replace('name: tiny', `name: tiny\n    ${CONTROLS}`).trimEnd();
  return apiWorld(server.url, { registry: parseRegistry(models + MARKS) });
};

const QUEUE = 'diffusion.tiny@1.64x64';
const square = (width = 64, height = width): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: '#c83264' } })
    .png()
    .toBuffer();
let picture: Buffer;
let bare: string;
beforeAll(async () => {
  picture = await square();
  bare = picture.toString('base64');
});

const REQUEST = { prompt: 'a red circle', seed: 7, steps: 6, width: 64, height: 64 };
const guidedBy = (...args: unknown[]): object => ({ ...REQUEST, alwayson_scripts: { controlnet: { args } } });

/** What the worker got, and the answer after it has drawn. */
async function drawn(world: ApiWorld, body: object, path = 'txt2img') {
  const text = JSON.stringify(body);
  const init = { headers: { 'content-length': String(text.length) } };
  const asked = world.ask('POST', `/sdapi/v1/${path}`, text, init);
  const refused = asked.then(async (response) => {
    throw new Error(`${response.status} ${await response.clone().text()}`);
  });
  const claim = await Promise.race([world.worker.next(QUEUE), refused]);
  const record = await world.parts.records.read(claim.jobId);
  await world.worker.succeed(claim, picture);
  refused.catch(() => undefined);
  const answer = (await (await asked).json()) as {
    images: string[];
    info: string;
    parameters: Record<string, unknown>;
  };
  return { control: (record?.input.control ?? []) as Record<string, unknown>[], answer };
}

/** As webuiapi sends it, with all of its defaults. */
const unit = () => ({
  image: bare,
  mask: null,
  module: 'canny',
  model: 'edges [d14c016b]',
  weight: 0.8,
  resize_mode: 'Resize and Fill',
  low_vram: false,
  processor_res: 512,
  threshold_a: 0.5,
  threshold_b: -1,
  guidance_start: 0.1,
  guidance_end: 0.9,
  control_mode: 0,
  pixel_perfect: false,
  guessmode: null,
  hr_option: 'Both',
  enabled: true,
  save_detected_map: true,
  effective_region_mask: null,
});

test('A unit of ControlNet guides the drawing, and the text of the picture has it as the extension writes it', async () => {
  const world = await controlWorld();
  const { control, answer } = await drawn(world, guidedBy(unit()));
  const { image, ...rest } = control[0];
  expect(rest).toEqual({ name: 'edges', scale: 0.8, start: 0.1, end: 0.9, preprocess: 'canny' });
  const stored = await world.parts.store.get(toObjectKey((image as { key: string }).key));
  expect(stored && (await buffer(stored.body))).toEqual(picture);
  const text =
    'Module: canny, Model: edges, Weight: 0.8, Resize Mode: Just Resize, Threshold A: 100.0, Threshold B: 200.0, ' +
    'Guidance Start: 0.1, Guidance End: 0.9, Pixel Perfect: True, Control Mode: Balanced';
  const [file] = answer.images;
  expect(pngTexts(Buffer.from(file, 'base64')).get('parameters')).toContain(`ControlNet 0: "${text}"`);
  const told = await world.ask('POST', '/sdapi/v1/png-info', { image: file });
  expect(await told.json()).toMatchObject({ parameters: { 'ControlNet 0': text } });
  // The answer repeats the request without its pictures.
  expect(answer.parameters).toMatchObject({
    alwayson_scripts: { controlnet: { args: [{ image: null, weight: 0.8 }] } },
  });
});

test('Units are taken in each form that clients send, and those that are off are left out', async () => {
  const world = await controlWorld();
  const off = { ...unit(), enabled: false, model: 'None' };
  const script = {
    args: [
      off,
      null,
      false,
      {
        model: 'control_v11f1p_sd15_depth.pth',
        image: { image: bare, mask: null },
        control_mode: 'Balanced',
      },
      { input_image: bare, model: 'edges', module: 'None', guidance: 0.5, lowvram: true, guessmode: false },
      { image: [bare, ''], model: 'Edges', module: 'marks', resize_mode: 1, processor_res: 384 },
    ],
  };
  const { control } = await drawn(world, { ...REQUEST, alwayson_scripts: { ControlNet: script } });
  expect(control).toMatchObject([
    { name: 'control_v11f1p_sd15_depth', scale: 1, start: 0, end: 1, preprocess: 'marks@1' },
    { name: 'edges', end: 0.5 },
    { name: 'edges', preprocess: 'marks@1' },
  ]);
  expect(control[1]).not.toHaveProperty('preprocess');
  const { control: none, answer } = await drawn(world, { ...guidedBy(off), seed: 8 });
  expect([none, answer.info.includes('ControlNet')]).toEqual([[], false]);
});

test('A large picture guides, too, and a unit of img2img without one is guided by the picture that it begins at', async () => {
  const world = await controlWorld();
  const pixels = Buffer.alloc(540 * 540 * 3);
  for (let i = 0; i < pixels.length; i++) pixels[i] = (i * i * 31 + i * 7) >> 3;
  const large = await sharp(pixels, { raw: { width: 540, height: 540, channels: 3 } })
    .png({ compressionLevel: 0 })
    .toBuffer();
  const { control } = await drawn(world, guidedBy({ ...unit(), image: large.toString('base64') }));
  const { key } = control[0].image as { key: string };
  expect((await world.parts.store.get(toObjectKey(key)))?.bytes).toBe(large.length);
  const edit = { ...guidedBy({ model: 'edges', enabled: true }), init_images: [bare], seed: 9 };
  const { control: begun } = await drawn(world, edit, 'img2img');
  expect(begun).toMatchObject([{ name: 'edges', preprocess: 'canny', image: { kind: 'object' } }]);
});

const AT = 'alwayson_scripts.controlnet.args';
const REFUSED: readonly [unit: object, field: string, words: string][] = [
  [{ model: 'openpose [1234abcd]' }, 'model', 'must be one of: edges, control_v11f1p_sd15_depth'],
  [{ model: 'None' }, 'model', 'must be one of: edges, control_v11f1p_sd15_depth'],
  [{ module: 'lineart' }, 'module', 'must be one of: none, canny, marks'],
  [{ image: '' }, 'image', 'is missing'],
  [{ image: { image: 'x', mask: 'x' } }, 'image', 'must be one picture without a mask'],
  [{ image: [1] }, 'image', 'must be a picture in base64'],
  [{ weight: 2.5 }, 'weight', '2'],
  [{ weight: 'much' }, 'weight', 'number'],
  [{ guidance_start: 0.9, guidance_end: 0.9 }, 'guidance_end', 'must be above start'],
  [{ control_mode: 'ControlNet is more important' }, 'control_mode', 'must be 0 (Balanced)'],
  [{ control_mode: 2 }, 'control_mode', 'must be 0 (Balanced)'],
  [{ module: 'canny', processor_res: 1024 }, 'processor_res', 'must be 512'],
  [{ module: 'canny', threshold_a: 64 }, 'threshold_a', 'must be 100'],
  [{ module: 'canny', threshold_b: 180 }, 'threshold_b', 'must be 200'],
  [{ hr_option: 'Low res only' }, 'hr_option', 'must be Both'],
  [{ mask: 'aGk=' }, 'mask', 'is not served'],
  [{ effective_region_mask: 'aGk=' }, 'effective_region_mask', 'is not served'],
  [{ advanced_weighting: [1, 0] }, 'advanced_weighting', 'is not served'],
  [{ input_mode: 'batch' }, 'input_mode', 'is not served'],
  [{ 'new/field': 1 }, 'new~1field', 'is not served'],
];

test('What a unit asks for and Lehr would draw otherwise is refused with the name of its field, and makes no job', async () => {
  const world = await controlWorld();
  const plain = { model: 'edges', image: bare };
  const refusal = async (body: object, path = 'txt2img') => {
    const response = await world.ask('POST', `/sdapi/v1/${path}`, body);
    expect(response.status, JSON.stringify(body).slice(0, 300)).toBe(422);
    return WebUiErrorSchema.strict().parse(await response.json()).detail;
  };
  for (const [fields, field, words] of REFUSED) {
    // The unit before it is off, and counts in the place that is named.
    const detail = await refusal(guidedBy({ ...plain, enabled: false }, { ...plain, ...fields }));
    expect(detail, JSON.stringify(fields)).toEqual([
      {
        loc: ['body', ...AT.split('.'), '1', field],
        msg: expect.stringContaining(words),
        type: 'value_error',
      },
    ]);
  }
  const wide = { ...plain, image: (await square(96, 64)).toString('base64') };
  expect(await refusal(guidedBy(wide))).toMatchObject([
    { msg: 'must be 0 (Just Resize): Lehr stretches the picture of 96x64 to 64x64' },
  ]);
  const whole = { ...guidedBy(plain), init_images: [bare], mask: bare };
  expect(await refusal(whole, 'img2img')).toMatchObject([
    { loc: ['body', ...AT.split('.'), '0', 'inpaint_crop_input_image'] },
  ]);
  const scripts = [...[Array(5).fill(plain), 'units', ['unit']].map((args) => ({ args })), [plain]];
  for (const controlnet of scripts) {
    const [{ loc }] = (await refusal({ ...REQUEST, alwayson_scripts: { controlnet } })) as {
      loc: string[];
    }[];
    expect(loc.slice(0, 4), JSON.stringify(controlnet).slice(0, 100)).toEqual(['body', ...AT.split('.')]);
  }
  const none = await apiWorld(server.url);
  const response = await none.ask('POST', '/sdapi/v1/txt2img', guidedBy(plain));
  expect([response.status, await response.text()]).toEqual([
    422,
    expect.stringContaining('tiny has no ControlNets'),
  ]);
  expect(await (await world.ask('GET', '/v1/jobs')).json()).toMatchObject({ data: [] });
});

test('The lists of the extension name the ControlNets and what prepares their pictures', async () => {
  const { ask, app } = await controlWorld();
  const list = async (name: string) => (await ask('GET', `/controlnet/${name}`)).json();
  expect(await list('version')).toEqual({ version: 2 });
  expect(await list('model_list?update=true')).toEqual({
    model_list: ['edges', 'control_v11f1p_sd15_depth'],
  });
  const modules = ['none', 'canny', 'marks'];
  expect(await list('module_list?alias_names=true')).toEqual({
    module_list: modules,
    module_detail: Object.fromEntries(modules.map((name) => [name, { model_free: false, sliders: [] }])),
  });
  const unknown = await ask('GET', '/controlnet/detect');
  expect(WebUiErrorSchema.parse(await unknown.json())).toMatchObject({ error: 'not-found' });
  expect((await app.request('/controlnet/version')).status).toBe(401);
});
