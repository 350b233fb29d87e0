/** The API of the Stable Diffusion web UI, /sdapi/v1, with the requests that its clients send. */
import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { WebUiErrorSchema } from '../../apps/api/src/dialects/a1111/errors.ts';
import { type JobId, parseRegistry, pngTexts, showPreview } from '../../packages/shared/src/index.ts';
import type { Claim } from '../../packages/shared/src/queue/index.ts';
import { toStoredError } from '../../packages/shared/src/records/index.ts';
import { API_KEY, type ApiWorld, apiWorld, MODELS } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const basic = (user: string, password: string): RequestInit => ({
  headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
});
const picture = (side = 64): Promise<Buffer> =>
  sharp({ create: { width: side, height: side, channels: 3, background: '#c83264' } })
    .png()
    .toBuffer();

const errorOf = async (response: Response) => WebUiErrorSchema.strict().parse(await response.json());

/** What the worker got, after it has drawn. */
async function drawn(
  world: ApiWorld,
  answer: Promise<Response>,
  png: Buffer,
): Promise<Record<string, unknown>> {
  const claim = await Promise.race([world.worker.next('diffusion.tiny@1.64x64'), refusalOf(answer)]);
  const record = await world.parts.records.read(claim.jobId);
  await world.worker.succeed(claim, png);
  const response = await answer;
  expect(response.status).toBe(200);
  return record?.input ?? {};
}

/** Rejects when the call is answered before a worker has its job. */
async function refusalOf(answer: Promise<Response>): Promise<never> {
  const response = (await answer).clone();
  throw new Error(`${response.status} ${await response.text()}`);
}

interface Answer {
  readonly images: string[];
  readonly parameters: Record<string, unknown>;
  readonly info: string;
}

/** As KoboldLite sends it. */
const KOBOLD = {
  prompt: 'a red circle',
  seed: 7,
  sampler_name: 'Euler',
  batch_size: 1,
  n_iter: 1,
  steps: 6,
  cfg_scale: 3,
  width: 64,
  height: 64,
  negative_prompt: 'green',
  do_not_save_samples: true,
  do_not_save_grid: true,
  enable_hr: false,
  eta: 0,
  s_churn: 0,
  s_tmax: 0,
  s_tmin: 0,
  s_noise: 1,
  override_settings: { sd_model_checkpoint: 'tiny', eta_noise_seed_delta: 0, CLIP_stop_at_last_layers: 1 },
};

test('txt2img draws what KoboldLite asks for, and the answer tells how, in the PNG and in info', async () => {
  const world = await apiWorld(server.url);
  const png = await picture();
  const answer = world.ask('POST', '/sdapi/v1/txt2img', KOBOLD);
  expect(await drawn(world, answer, png)).toMatchObject({
    prompt: 'a red circle',
    prompt_syntax: 'weighted',
    negative_prompt: 'green',
    seed: 7,
    sampler: 'euler',
    steps: 6,
    guidance: 3,
    n: 1,
  });
  const { images, parameters, info } = (await (await answer).json()) as Answer;
  const [first] = images.map((image) => Buffer.from(image, 'base64'));
  const text =
    'a red circle\nNegative prompt: green\n' +
    'Steps: 6, Sampler: Euler, Schedule type: Automatic, CFG scale: 3, Seed: 7, Size: 64x64, Model: tiny@1';
  expect(pngTexts(first!).get('parameters')).toBe(text);
  expect((await sharp(first).metadata()).width).toBe(64);
  expect(parameters).toMatchObject({ prompt: 'a red circle', steps: 6, init_images: null });
  expect(JSON.parse(info)).toMatchObject({
    seed: 7,
    all_seeds: [7],
    infotexts: [text],
    sampler_name: 'Euler',
  });
  const told = await world.ask('POST', '/sdapi/v1/png-info', { image: images[0] });
  expect(await told.json()).toMatchObject({
    info: text,
    items: {},
    parameters: { Prompt: 'a red circle', 'Negative prompt': 'green', Steps: '6', 'Size-1': '64' },
  });
});

test('Fields that are null or absent take the defaults of the model, and -1 is a random seed', async () => {
  const world = await apiWorld(server.url);
  const nothing = {
    negative_prompt: null,
    styles: null,
    alwayson_scripts: null,
    scheduler: null,
    steps: null,
  };
  const seeds: unknown[] = [];
  for (const seed of [-1, -1]) {
    const answer = world.ask('POST', '/sdapi/v1/txt2img', {
      prompt: 'x',
      seed,
      ...nothing,
      send_images: false,
    });
    const input = await drawn(world, answer, await picture());
    expect(input).toMatchObject({ sampler: 'euler', steps: 8, guidance: 4, width: 64, height: 64 });
    seeds.push(input.seed);
    expect(await (await answer).json()).toMatchObject({ images: [] });
  }
  expect(seeds[0]).not.toBe(seeds[1]);
});

test('The key is the password of Basic authorization, or its user without a password, on these routes only', async () => {
  const world = await apiWorld(server.url);
  const { ask } = world;
  expect((await ask('GET', '/sdapi/v1/options', undefined, basic('somebody', API_KEY))).status).toBe(200);
  expect((await ask('GET', '/sdapi/v1/options', undefined, basic(API_KEY, ''))).status).toBe(200);
  const refused = await ask('GET', '/sdapi/v1/options', undefined, basic(API_KEY, 'wrong'));
  expect(refused.status).toBe(401);
  // A browser must not keep the key and send it with the requests of other sites.
  expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer/);
  expect(await errorOf(refused)).toMatchObject({
    error: 'unauthenticated',
    detail: 'This key is not known.',
  });
  expect((await world.app.request('/sdapi/v1/sd-models')).status).toBe(401);
  expect((await ask('GET', '/v1/jobs', undefined, basic('somebody', API_KEY))).status).toBe(401);
});

test('The lists have what clients read before they draw', async () => {
  const { ask } = await apiWorld(server.url);
  const list = async (name: string) => (await (await ask('GET', `/sdapi/v1/${name}`)).json()) as unknown;
  expect(await list('options')).toMatchObject({ sd_model_checkpoint: 'tiny', samples_format: 'png' });
  expect(await list('sd-models')).toEqual([
    expect.objectContaining({ title: 'tiny', model_name: 'tiny' }),
    expect.objectContaining({ title: 'split' }),
  ]);
  expect(await list('samplers')).toContainEqual(expect.objectContaining({ name: 'Euler a' }));
  expect(await list('schedulers')).toContainEqual(
    expect.objectContaining({ name: 'karras', label: 'Karras' }),
  );
  expect(await list('upscalers')).toMatchObject([{ name: 'None' }, { name: 'Lanczos' }]);
  expect(await list('latent-upscale-modes')).toEqual([{ name: 'Latent' }]);
  expect(await list('embeddings')).toEqual({ loaded: {}, skipped: {} });
  expect(await list('scripts')).toEqual({ txt2img: [], img2img: [] });
  for (const name of ['loras', 'sd-vae']) expect(await list(name), name).toEqual([]);
  const unknown = await ask('GET', '/sdapi/v1/memory');
  expect([unknown.status, (await errorOf(unknown)).error]).toEqual([404, 'not-found']);
});

test('An adapter is listed as a LoRA, taken as a tag, and written into the text of the picture', async () => {
  const adapters = 'adapters: [{ name: ink, path: ink.safetensors, trigger: [ink drawing] }]';
  const registry = parseRegistry(MODELS.replace('name: tiny', `name: tiny\n    ${adapters}`));
  const world = await apiWorld(server.url, { registry });
  expect(await (await world.ask('GET', '/sdapi/v1/loras')).json()).toEqual([
    { name: 'ink', alias: 'ink', path: 'ink', metadata: { models: ['tiny'], trigger: ['ink drawing'] } },
  ]);
  const prompt = 'a red circle <lora:ink:0.8>';
  const answer = world.ask('POST', '/sdapi/v1/txt2img', { ...KOBOLD, prompt });
  expect(await drawn(world, answer, await picture())).toMatchObject({
    prompt: 'a red circle',
    adapters: [{ name: 'ink', scale: 0.8 }],
  });
  const { images, info } = (await (await answer).json()) as Answer;
  expect(JSON.parse(info)).toMatchObject({ prompt });
  const told = await world.ask('POST', '/sdapi/v1/png-info', { image: images[0] });
  expect(await told.json()).toMatchObject({ parameters: { Prompt: prompt } });
  const twoNumbers = { ...KOBOLD, prompt: 'a circle <lora:ink:0.5:0.7>' };
  const refused = await errorOf(await world.ask('POST', '/sdapi/v1/txt2img', twoNumbers));
  expect(JSON.stringify(refused)).toContain('has two numbers');
});

const REFUSED: readonly [fields: object, status: number, field: string][] = [
  [{ steps: 0 }, 422, 'steps'],
  [{ steps: 51 }, 422, 'steps'],
  [{ width: 65 }, 422, 'width'],
  [{ cfg_scale: 'much' }, 422, 'cfg_scale'],
  [{ seed: -2 }, 422, 'seed'],
  [{ batch_size: 4, n_iter: 2 }, 422, 'batch_size'],
  [{ sampler_name: 'UniPC' }, 422, 'sampler_name'],
  [{ scheduler: 'Karras' }, 422, 'scheduler'],
  [{ enable_hr: true, hr_scale: 5 }, 422, 'hr_scale'],
  [{ enable_hr: true, hr_upscaler: 'R-ESRGAN 4x+' }, 422, 'hr_upscaler'],
  [{ enable_hr: true, hr_resize_x: 128 }, 422, 'hr_resize_x'],
  [{ tiling: true }, 422, 'tiling'],
  [{ subseed_strength: 0.5 }, 422, 'subseed_strength'],
  [{ script_name: 'x/y/z plot' }, 422, 'script_name'],
  [{ alwayson_scripts: { ADetailer: { args: [true] } } }, 422, 'alwayson_scripts.ADetailer'],
  [{ prompt: 'a circle <lora:ink:0.8>' }, 422, 'prompt'],
  [{ prompt: 'a circle <hypernet:ink:0.8>' }, 422, 'prompt'],
  [{ negative_prompt: 'green <lora:ink:0.8>' }, 422, 'negative_prompt'],
];

test('A field that Lehr cannot serve is refused with its name, in the form of FastAPI, and makes no job', async () => {
  const world = await apiWorld(server.url);
  for (const [fields, status, field] of REFUSED) {
    const response = await world.ask('POST', '/sdapi/v1/txt2img', { ...KOBOLD, ...fields });
    expect(response.status, JSON.stringify(fields)).toBe(status);
    const { detail } = await errorOf(response);
    expect(detail, JSON.stringify(fields)).toContainEqual(
      expect.objectContaining({ loc: ['body', ...field.split('.')], type: 'value_error' }),
    );
  }
  const missing = [
    [{ sampler_name: 'Restart' }, 'Sampler not found'],
    [{ override_settings: { sd_model_checkpoint: 'v1-5.safetensors' } }, 'v1-5'],
  ] as const;
  for (const [fields, words] of missing) {
    const response = await world.ask('POST', '/sdapi/v1/txt2img', { ...KOBOLD, ...fields });
    expect(response.status).toBe(404);
    expect((await errorOf(response)).detail).toContain(words);
  }
  const broken = await world.ask('POST', '/sdapi/v1/txt2img', '{"prompt":');
  expect([broken.status, (await errorOf(broken)).error]).toEqual([400, 'invalid-request']);
  expect(await (await world.ask('GET', '/v1/jobs')).json()).toMatchObject({ data: [] });
});

test('Scripts that are off, and names of files with their hash, are accepted as clients send them', async () => {
  const world = await apiWorld(server.url);
  const off = { ControlNet: { args: [] }, ADetailer: { args: [false] }, sag: {} };
  const override_settings = { sd_model_checkpoint: 'tiny.safetensors [6ce0161689]', sd_vae: 'Automatic' };
  const answer = world.ask('POST', '/sdapi/v1/txt2img', {
    prompt: '',
    alwayson_scripts: off,
    override_settings,
    script_name: '',
    refiner_checkpoint: 'None',
    scheduler: 'automatic',
    sampler_index: 'DPM++ 2M',
    clip_skip: 2,
  });
  expect(await drawn(world, answer, await picture())).toMatchObject({ sampler: 'dpmpp_2m', clip_skip: 2 });
  expect(JSON.parse(((await (await answer).json()) as Answer).info)).toMatchObject({ prompt: '' });
});

test('enable_hr is a second pass, and its fields are in the text of the picture', async () => {
  const world = await apiWorld(server.url);
  const hires = { enable_hr: true, hr_scale: 1.5, hr_second_pass_steps: 0, hr_upscaler: 'Latent' };
  const answer = world.ask('POST', '/sdapi/v1/txt2img', { ...KOBOLD, ...hires, denoising_strength: 0.5 });
  expect(await drawn(world, answer, await picture())).toMatchObject({
    width: 64,
    hires: { scale: 1.5, steps: 6, strength: 0.5, upscaler: 'latent', width: 96, height: 96 },
  });
  const { info } = (await (await answer).json()) as Answer;
  expect(info).toContain(
    'Denoising strength: 0.5, Hires upscale: 1.5, Hires steps: 6, Hires upscaler: Latent',
  );
});

/** Incompressible, so that its file is as large as its pixels. */
const noise = (side: number): Promise<Buffer> => {
  const data = createHash('shake256', { outputLength: side * side * 3 }).digest();
  return sharp(data, { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toBuffer();
};

test('img2img takes the picture as a data: URI or bare, also above a megabyte, and names what is missing', async () => {
  const world = await apiWorld(server.url);
  const [small, large] = [await picture(), await noise(540)];
  const bare = large.toString('base64');
  expect(bare.length).toBeGreaterThan(1024 * 1024);
  for (const [image, bytes] of [
    [`data:image/png;base64,${small.toString('base64')}`, small],
    [small.toString('base64'), small],
    [bare, large],
  ] as const) {
    const body = JSON.stringify({ ...KOBOLD, init_images: [image], denoising_strength: 0.5 });
    const init = { headers: { 'content-length': String(body.length) } };
    const answer = world.ask('POST', '/sdapi/v1/img2img', body, init);
    const input = await drawn(world, answer, await picture());
    expect(input).toMatchObject({ strength: 0.5, image: { kind: 'object' } });
    const { key } = input.image as { key: never };
    const stored = await world.parts.store.get(key);
    expect(Buffer.from(await new Response(stored?.body).arrayBuffer()).equals(bytes)).toBe(true);
    expect(await (await answer).json()).toMatchObject({ parameters: { init_images: null } });
  }
  const read = JSON.stringify({ image: bare });
  const told = await world.ask('POST', '/sdapi/v1/png-info', read, {
    headers: { 'content-length': String(read.length) },
  });
  expect(await told.json()).toEqual({ info: '', items: {}, parameters: {} });
  const without = await world.ask('POST', '/sdapi/v1/img2img', KOBOLD);
  expect([without.status, (await errorOf(without)).detail]).toEqual([404, 'Init image not found']);
});

test('img2img draws in a mask, with the defaults of the web UI or what the caller says', async () => {
  const world = await apiWorld(server.url);
  const file = (await picture()).toString('base64');
  const draw = async (fields: object) => {
    const body = { ...KOBOLD, init_images: [file], mask: `data:image/png;base64,${file}`, ...fields };
    const answer = world.ask('POST', '/sdapi/v1/img2img', body);
    const input = await drawn(world, answer, await picture());
    const { parameters, info } = (await (await answer).json()) as Answer;
    expect(parameters).toMatchObject({ init_images: null, mask: null });
    return { input, info };
  };
  const defaults = await draw({});
  expect(defaults.input).toMatchObject({
    mask: { kind: 'object' },
    strength: 0.75,
    mask_blur: 4,
    mask_fill: 'original',
    only_masked: { padding: 0 },
  });
  expect(defaults.info).toContain('Mask blur: 4, Inpaint area: Only masked, Masked area padding: 0');
  const own = {
    mask_blur: 0,
    inpainting_fill: 2,
    denoising_strength: 1,
    inpaint_full_res: false,
    inpainting_mask_invert: 1,
  };
  const { input } = await draw(own);
  expect(input).toMatchObject({ strength: 1, mask_blur: 0, mask_fill: 'latent_noise', mask_invert: true });
  expect(input).not.toHaveProperty('only_masked');
  for (const field of ['inpainting_fill', 'inpainting_mask_invert']) {
    const refused = { ...KOBOLD, init_images: [file], mask: file, [field]: 3 };
    const response = await world.ask('POST', '/sdapi/v1/img2img', refused);
    expect((await errorOf(response)).detail).toMatchObject([{ loc: ['body', field] }]);
  }
});

test('A picture that the worker cannot read is refused with the name of its field', async () => {
  const world = await apiWorld(server.url);
  const answer = world.ask('POST', '/sdapi/v1/img2img', { ...KOBOLD, init_images: ['AAAA'] });
  const claim = await world.worker.next('diffusion.tiny@1.64x64');
  const detail = 'is not a readable picture';
  await world.worker.fail(
    claim,
    toStoredError({
      code: 'invalid-input',
      message: `input.image ${detail}.`,
      problems: [{ pointer: '/input/image', detail }],
    }),
  );
  const response = await answer;
  expect(response.status).toBe(422);
  expect(await errorOf(response)).toMatchObject({
    detail: [{ loc: ['body', 'init_images', '0'], msg: detail, type: 'value_error' }],
    job_id: claim.jobId,
  });
});

interface Progress {
  readonly progress: number;
  readonly eta_relative: number;
  readonly state: { job: string; job_count: number; sampling_step: number; sampling_steps: number };
  readonly current_image: string | null;
}

/** Two keys, and a call of each that a worker runs. */
async function twoCallers() {
  const world = await apiWorld(server.url);
  const keyed = async (name: string) => {
    const response = await world.ask('POST', '/v1/keys', { tenant: 'studio', name });
    const { key } = (await response.json()) as { key: string };
    const ask = (method: string, path: string, body?: unknown) =>
      world.ask(method, `/sdapi/v1/${path}`, body, basic(name, key));
    const progress = async (query = '') => (await (await ask('GET', `progress${query}`)).json()) as Progress;
    return { ask, progress };
  };
  const [ada, ben] = [await keyed('ada'), await keyed('ben')];
  const draw = async (
    caller: typeof ada,
    prompt: string,
  ): Promise<{ answer: Promise<Response>; claim: Claim }> => {
    const answer = caller.ask('POST', 'txt2img', { ...KOBOLD, prompt });
    return { answer, claim: await world.worker.next('diffusion.tiny@1.64x64') };
  };
  return { world, ada, ben, draw };
}

test('Progress is that of the key that asks, with a preview, and 0 without jobs when nothing runs', async () => {
  const { world, ada, ben, draw } = await twoCallers();
  const { redis, keys } = world.parts;
  expect(await ada.progress()).toMatchObject({ progress: 0, eta_relative: 0, state: { job_count: 0 } });
  const call = await draw(ada, 'a red circle');
  await world.worker.progress(call.claim, 2);
  await vi.waitFor(async () => expect((await ada.progress()).state.job_count).toBe(1));
  const preview = {
    id: call.claim.jobId,
    step: 2,
    steps: 8,
    index: 0,
    content_type: 'image/webp',
    data: 'AAAA',
  };
  await showPreview(redis, keys, [call.claim.jobId], preview);
  const seen = await ada.progress();
  expect(seen).toMatchObject({
    progress: 0.25,
    state: { job: call.claim.jobId, job_count: 1, sampling_step: 2, sampling_steps: 8 },
    current_image: 'AAAA',
  });
  expect(seen.eta_relative).toBeGreaterThan(0);
  expect(await redis.exists(keys.watched(call.claim.jobId as JobId))).toBe(1);
  expect(await ada.progress('?skip_current_image=true')).toMatchObject({ current_image: null });
  expect(await ben.progress()).toMatchObject({ progress: 0, state: { job: '', job_count: 0 } });
  await world.worker.succeed(call.claim, await picture());
  await call.answer;
  expect(await ada.progress()).toMatchObject({ progress: 0, state: { job_count: 0 } });
});

test('The model that a key chooses in the options is that of its calls which name none, and of no other key', async () => {
  const { world, ada, ben } = await twoCallers();
  const { records } = world.parts;
  const optionsOf = async ({ ask }: typeof ada) => (await (await ask('GET', 'options')).json()) as unknown;
  /** The model of a call, which is then interrupted. */
  const modelOf = async (caller: typeof ada, fields: object): Promise<string | undefined> => {
    const answer = caller.ask('POST', 'txt2img', { ...KOBOLD, override_settings: undefined, ...fields });
    await vi.waitFor(async () => expect((await caller.progress()).state.job_count).toBe(1));
    const record = await records.read((await caller.progress()).state.job as JobId);
    await caller.ask('POST', 'interrupt');
    expect((await answer).status).toBe(409);
    return record?.model;
  };
  const choose = async (sd_model_checkpoint?: string | null) => {
    const response = await ada.ask('POST', 'options', { sd_model_checkpoint, samples_save: false });
    return [response.status, await response.json()];
  };
  expect(await choose('split.safetensors [6ce0161689]')).toEqual([200, null]);
  expect(await choose()).toEqual([200, null]);
  expect(await optionsOf(ada)).toMatchObject({ sd_model_checkpoint: 'split' });
  expect(await modelOf(ada, {})).toMatch(/^split@/);
  expect(await modelOf(ada, { override_settings: { sd_model_checkpoint: 'tiny' } })).toBe('tiny@1');
  expect(await optionsOf(ben)).toMatchObject({ sd_model_checkpoint: 'tiny' });
  expect(await modelOf(ben, {})).toBe('tiny@1');
  const [status, refused] = await choose('v1-5');
  expect([status, refused]).toEqual([404, expect.objectContaining({ error: 'model-not-found' })]);
  expect(await optionsOf(ada)).toMatchObject({ sd_model_checkpoint: 'split' });
  expect(await choose('')).toEqual([200, null]);
  expect(await optionsOf(ada)).toMatchObject({ sd_model_checkpoint: 'tiny' });
  expect(await modelOf(ada, {})).toBe('tiny@1');
});

test('Interrupt and skip cancel the oldest call of the key that asks, and no other one', async () => {
  const { world, ada, ben, draw } = await twoCallers();
  const first = await draw(ada, 'first');
  const second = await draw(ada, 'second');
  const others = await draw(ben, 'of another key');
  await vi.waitFor(async () => expect((await ada.progress()).state.job_count).toBe(2));
  for (const [name, call] of [
    ['interrupt', first],
    ['skip', second],
  ] as const) {
    const answer = await ada.ask('POST', name);
    expect([answer.status, await answer.json()]).toEqual([200, {}]);
    await world.worker.obeyCancel(call.claim);
    const ended = await call.answer;
    expect([ended.status, (await errorOf(ended)).errors]).toEqual([409, 'The job was canceled.']);
  }
  expect(await (await ada.ask('POST', 'interrupt')).json()).toEqual({});
  expect(await ben.progress()).toMatchObject({ state: { job: others.claim.jobId, interrupted: false } });
  await world.worker.succeed(others.claim, await picture());
  expect((await others.answer).status).toBe(200);
});

test('A call that outlasts its hold is answered with 504, its job goes on, and the same call gets it', async () => {
  const world = await apiWorld(server.url, { holdMs: 300 });
  const late = await world.ask('POST', '/sdapi/v1/txt2img', KOBOLD);
  expect([late.status, (await errorOf(late)).error]).toEqual([504, 'hold-expired']);
  const progress = (await (await world.ask('GET', '/sdapi/v1/progress')).json()) as Progress;
  expect(progress.state.job_count).toBe(1);
  const claim = await world.worker.next('diffusion.tiny@1.64x64');
  expect(progress.state.job).toBe(claim.jobId);
  await world.worker.succeed(claim, await picture());
  const again = await world.ask('POST', '/sdapi/v1/txt2img', KOBOLD);
  expect(again.status).toBe(200);
  expect(JSON.parse(((await again.json()) as Answer).info)).toMatchObject({ job_id: claim.jobId });
});

test('Progress counts all unfinished calls of a key, however many there are', async () => {
  const world = await apiWorld(server.url, { holdMs: 1 });
  const calls = Array.from({ length: 70 }, (_, seed) =>
    world.ask('POST', '/sdapi/v1/txt2img', { ...KOBOLD, seed }),
  );
  for (const answer of await Promise.all(calls)) expect(answer.status).toBe(504);
  const progress = (await (await world.ask('GET', '/sdapi/v1/progress')).json()) as Progress;
  expect(progress.state.job_count).toBe(70);
});

const UPSCALERS = `${MODELS.replace('samplers:', 'upscalers: [larger]\n    samplers:')}
  - { name: larger, aliases: [r-esrgan], task: transform, result: picture, scale: 4, versions: [{ version: "1", path: l }] }
  - { name: depth, task: transform, result: mask, versions: [{ version: "1", path: d }] }
`;
const upscaleWorld = (): Promise<ApiWorld> => apiWorld(server.url, { registry: parseRegistry(UPSCALERS) });

/** As webuiapi sends it, but for the picture and the upscaler. */
const WEBUIAPI_EXTRA = {
  resize_mode: 0,
  show_extras_results: true,
  gfpgan_visibility: 0,
  codeformer_visibility: 0,
  codeformer_weight: 0,
  upscaling_resize: 2,
  upscaling_resize_w: 512,
  upscaling_resize_h: 512,
  upscaling_crop: true,
  upscaler_1: 'None',
  upscaler_2: 'None',
  extras_upscaler_2_visibility: 0,
  upscale_first: false,
};
const UPSCALE = '/sdapi/v1/extra-single-image';

test('extra-single-image enlarges as webuiapi asks, by a factor or to a size, with a model of the list of upscalers', async () => {
  const world = await upscaleWorld();
  const list = (await (await world.ask('GET', '/sdapi/v1/upscalers')).json()) as object[];
  expect(list).toMatchObject([
    { name: 'None' },
    { name: 'Lanczos' },
    { name: 'larger', model_name: null, model_path: null, model_url: null, scale: 4 },
  ]);
  const image = (await picture(64)).toString('base64');
  const enlarged = async (fields: object) => {
    const answer = world.ask('POST', UPSCALE, { ...WEBUIAPI_EXTRA, ...fields });
    const claim = await Promise.race([world.worker.next('transform.larger@1'), refusalOf(answer)]);
    expect(await (await world.ask('GET', '/sdapi/v1/progress')).json()).toMatchObject({
      state: { job: claim.jobId, job_count: 1 },
    });
    const input = (await world.parts.records.read(claim.jobId))?.input;
    await world.worker.succeed(claim, await picture(128));
    return { input, answer: (await (await answer).json()) as { html_info: string; image: string } };
  };
  const twice = await enlarged({ upscaler_1: 'larger', image: `data:image/png;base64,${image}` });
  expect(twice.input).toMatchObject({ scale: 2, output_format: 'png' });
  expect(twice.answer).toEqual({
    html_info: '<p>Postprocess upscale by: 2, Postprocess upscaler: larger@1</p>',
    image: (await picture(128)).toString('base64'),
  });
  const sized = { resize_mode: 1, upscaling_resize_w: 160, upscaling_resize_h: 160 };
  expect((await enlarged({ upscaler_1: 'R-ESRGAN', image, ...sized })).input).toMatchObject({ scale: 2.5 });
  const covering = { ...sized, upscaling_resize_h: 96, upscaling_crop: false };
  expect((await enlarged({ upscaler_1: 'larger', image, ...covering })).input).toMatchObject({ scale: 2.5 });
});

test('extra-single-image refuses what would give another picture, and names the field, also when a worker refuses', async () => {
  const world = await upscaleWorld();
  const image = (await picture(64)).toString('base64');
  const body = { ...WEBUIAPI_EXTRA, upscaler_1: 'larger', image };
  const REFUSED_EXTRAS: readonly (readonly [object, string, string])[] = [
    [{ upscaler_1: 'None' }, 'upscaler_1', 'must be one of: larger'],
    [{ upscaler_1: 'depth' }, 'upscaler_1', 'must be one of: larger'],
    [{ upscaler_1: null }, 'upscaler_1', 'must be one of: larger'],
    [{ upscaler_2: 'Lanczos', extras_upscaler_2_visibility: 0.5 }, 'upscaler_2', 'not served'],
    [{ gfpgan_visibility: 1 }, 'gfpgan_visibility', 'not served'],
    [{ codeformer_visibility: 0.1 }, 'codeformer_visibility', 'not served'],
    [{ upscaling_resize: 9 }, 'upscaling_resize', 'at most 8'],
    [{ resize_mode: 1, upscaling_resize_w: 2048, upscaling_crop: false }, 'upscaling_resize', 'at most 8'],
    [{ resize_mode: 1, upscaling_resize_h: 256 }, 'upscaling_crop', 'becomes 512x512'],
    [{ resize_mode: 1, image: 'R0lGODlh' }, 'image', 'PNG, JPEG or WebP'],
    [{ image: '' }, 'image', ''],
  ];
  for (const [fields, field, words] of REFUSED_EXTRAS) {
    const response = await world.ask('POST', UPSCALE, { ...body, ...fields });
    const { detail } = await errorOf(response);
    expect([response.status, detail], JSON.stringify(fields)).toEqual([
      422,
      [{ loc: ['body', field], msg: expect.stringContaining(words), type: 'value_error' }],
    ]);
  }
  const held = world.ask('POST', UPSCALE, body);
  const problems = [{ pointer: '/input/image', detail: 'is animated' }];
  const claim = await world.worker.next('transform.larger@1');
  await world.worker.fail(
    claim,
    toStoredError({ code: 'invalid-input', message: 'It is animated.', problems }),
  );
  expect(await errorOf(await held)).toMatchObject({
    detail: [{ loc: ['body', 'image'], msg: 'is animated' }],
    job_id: claim.jobId,
  });
  const none = await (await apiWorld(server.url)).ask('POST', UPSCALE, body);
  expect((await errorOf(none)).errors).toContain('no model of this server enlarges pictures');
});

test('hr_upscaler names a model that the drawing model lists, and the text of the picture has its name', async () => {
  const world = await upscaleWorld();
  const hires = { enable_hr: true, hr_scale: 1.5, denoising_strength: 0.5 };
  const answer = world.ask('POST', '/sdapi/v1/txt2img', { ...KOBOLD, ...hires, hr_upscaler: 'r-esrgan' });
  const input = await drawn(world, answer, await picture(128));
  expect(input).toMatchObject({ hires: { upscaler: 'larger@1', width: 96, height: 96 } });
  const { info } = (await (await answer).json()) as Answer;
  expect(JSON.parse(info).infotexts[0]).toMatch(/Hires upscaler: larger$/);
  const refused = await world.ask('POST', '/sdapi/v1/txt2img', { ...KOBOLD, ...hires, hr_upscaler: 'depth' });
  expect((await errorOf(refused)).detail).toEqual([
    { loc: ['body', 'hr_upscaler'], msg: expect.stringContaining('larger'), type: 'value_error' },
  ]);
});
