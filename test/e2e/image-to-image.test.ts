/** Pictures that begin at other pictures, through all of Lehr: real processes and small models. */
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { pictureFile, pixelData } from '../support/picture-file.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { newTenant, type Stack, startStack } from '../support/stack.ts';
import {
  addCheckedModel,
  addTransformModels,
  SORTS,
  tempFolder,
  tinyModels,
} from '../support/tiny-models.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const newStack = async (): Promise<Stack> =>
  startStack(server, { LEHR_MODELS: await tinyModels({ vaeEncoder: true }) });

const plain = (background: string, width = 96, height = 48) =>
  sharp({ create: { width, height, channels: 3, background } });
const png = (background: string): Promise<Buffer> => plain(background).png().toBuffer();
const dataUri = (bytes: Buffer, type = 'image/png'): string =>
  `data:${type};base64,${bytes.toString('base64')}`;

async function fileOf(stack: Stack, id: string): Promise<Uint8Array> {
  const { output, error } = await stack.over(id);
  expect(error).toBeNull();
  const answer = await fetch(output?.images?.[0].url ?? '');
  return new Uint8Array(await answer.arrayBuffer());
}

const pixelsOf = async (stack: Stack, id: string): Promise<string> => pixelData(await fileOf(stack, id));

const failureOf = async (stack: Stack, image: string, fields: object = {}): Promise<Job['error']> => {
  const { id } = await stack.post({ image, strength: 0.5, ...fields });
  return (await stack.over(id)).error;
};

test('An uploaded file by its link, by its id and inline gives the same picture, with the strength of the steps', async () => {
  const stack = await newStack();
  const worker = stack.worker({ LEHR_EGRESS_ALLOW: '*' });
  const bytes = await png('#c83264');
  const link = await stack.upload('start.png', bytes);
  const fields = { strength: 0.5, seed: 3, n: 2 };
  const jobs = await Promise.all(
    [link, link.split('/').at(-1) as string, dataUri(bytes), dataUri(await png('#1e90ff'))].map((image) =>
      stack.post({ ...fields, image }),
    ),
  );
  expect(jobs[0].input).toMatchObject({ image: link, strength: 0.5 });
  expect(jobs[2].input).toMatchObject({ image: 'data:' });
  const prediction = await stack.ask('POST', '/v1/predictions', {
    version: 'lehr/tiny',
    input: { prompt: 'a red circle', image: link, prompt_strength: 0.5, seed: 3, num_outputs: 2 },
  });
  const predicted = (await prediction.json()) as { id: string; input: object };
  expect(predicted.input).toMatchObject({ image: link, prompt_strength: 0.5 });
  const ordinary = await stack.post({ seed: 3 });
  const wide = await stack.post({
    image: await stack.upload('a.png', await speckled()),
    expand: { right: 32 },
    steps: 4,
  });
  const part = await stack.post({
    image: dataUri(await plain('#c83264', 200, 100).png().toBuffer()),
    mask: dataUri(
      await plain('#000', 200, 100)
        .composite([{ input: await plain('#fff', 20, 20).png().toBuffer(), left: 150, top: 9 }])
        .png()
        .toBuffer(),
    ),
    only_masked: { padding: 16 },
    steps: 4,
  });
  const masked = await stack.post({
    image: dataUri(await speckled()),
    mask: dataUri(await disc()),
    seed: 3,
    steps: 4,
  });
  const asReplicate = await stack.ask('POST', '/v1/predictions', {
    version: 'lehr/tiny',
    input: {
      prompt: 'a red circle',
      image: dataUri(await speckled()),
      mask: dataUri(await disc()),
      seed: 3,
      num_inference_steps: 4,
    },
  });
  const replicated = (await asReplicate.json()) as { id: string; input: object };
  expect(replicated.input).toMatchObject({ mask: 'data:' });
  // Long enough that its progress is reported before it ends.
  const followed = await stack.post({ ...fields, n: 1, image: link, strength: 0.7, steps: 400 });
  const events = await stack.ask('GET', `/v1/jobs/${followed.id}/events`);
  const grown = await stack.post({ seed: 3, hires: { steps: 10, strength: 0.55, upscaler: 'lanczos' } });
  await worker;
  const { url, width } = (await stack.over(grown.id)).output?.images?.[0] ?? { url: '', width: 0 };
  const grownFile = Buffer.from(await (await fetch(url)).arrayBuffer());
  expect(width).toBe(128);
  expect(pictureFile(grownFile)).toEqual({ format: 'png', size: '128x128' });
  expect(grownFile.toString('latin1')).toContain('"hires":{"scale":2,"steps":10,"strength":0.55');
  const [byLink, byId, inline, other, alone] = await Promise.all(
    [...jobs, ordinary].map(({ id }) => pixelsOf(stack, id)),
  );
  expect(byId).toBe(byLink);
  expect(await pixelsOf(stack, `job_${predicted.id}`)).toBe(byLink);
  expect(inline).toBe(byLink);
  expect(new Set([byLink, other, alone]).size).toBe(3);

  const done = await stack.over(jobs[0].id);
  const [first, second] = done.output?.images ?? [];
  expect([first.seed, second.seed]).toEqual([3, 4]);
  const file = Buffer.from(await (await fetch(first.url)).arrayBuffer());
  expect(pictureFile(file)).toEqual({ format: 'png', size: '64x64' });
  expect(file.toString('latin1')).toContain('"strength":0.5');
  const counted = [...(await events.text()).matchAll(/"step":\d+,"steps":(\d+)/g)].map(([, steps]) => steps);
  expect(new Set(counted)).toEqual(new Set(['280']));
  const edited = await expectEdit(stack, masked);
  expect(await pixelsOf(stack, `job_${replicated.id}`)).toBe(edited);
  expect(wide.input).toMatchObject({ width: 96, height: 64, expand: { left: 0, right: 32 } });
  expect(pictureFile(await fileOf(stack, wide.id)).size).toBe('96x64');
  expect(part.input).toMatchObject({ width: 64, height: 64 });
  expect(pictureFile(await fileOf(stack, part.id)).size).toBe('200x100');
  const repeated = await stack.ask('POST', `/v1/jobs/${masked.id}/retry`, {});
  expect(await pixelsOf(stack, ((await repeated.json()) as Job).id)).toBe(edited);
  // The same job again, with the others of its batch gone.
  const again = await stack.ask('POST', `/v1/jobs/${jobs[2].id}/retry`, {});
  expect(await pixelsOf(stack, ((await again.json()) as Job).id)).toBe(byLink);
});

/** No two of its pixels are alike. */
const speckled = (): Promise<Buffer> => {
  const values = Uint8Array.from({ length: 64 * 64 * 3 }, (_, i) => (i * 37 + (i >> 6)) % 256);
  return sharp(values, { raw: { width: 64, height: 64, channels: 3 } })
    .png()
    .toBuffer();
};

const isInDisc = (i: number): boolean => ((i % 64) - 32) ** 2 + (Math.floor(i / 64) - 32) ** 2 < 400;

/** Transparent where it is to be drawn. */
const disc = (): Promise<Buffer> => {
  const values = Uint8Array.from({ length: 64 * 64 * 4 }, (_, i) =>
    i % 4 === 3 && isInDisc(i >> 2) ? 0 : 255,
  );
  return sharp(values, { raw: { width: 64, height: 64, channels: 4 } })
    .png()
    .toBuffer();
};

/** Every pixel outside of the mask is the original's, and those inside are not. */
async function expectEdit(stack: Stack, job: Job): Promise<string> {
  expect(job.input).toMatchObject({ image: 'data:', mask: 'data:', mask_blur: 0, strength: 0.75 });
  const file = await fileOf(stack, job.id);
  expect(Buffer.from(file).toString('latin1')).toContain(
    '"masked":true,"mask_blur":0,"mask_fill":"original"',
  );
  const [drawn, original] = await Promise.all(
    [file, await speckled()].map((each) => sharp(each).raw().toBuffer()),
  );
  const changed = Array.from({ length: 64 * 64 }, (_, i) => i).filter(
    (i) => !drawn.subarray(3 * i, 3 * i + 3).equals(original.subarray(3 * i, 3 * i + 3)),
  );
  expect(changed.filter((i) => !isInDisc(i))).toEqual([]);
  expect(changed.length).toBeGreaterThan(1000);
  return pixelData(file);
}

test('Pictures are enlarged, marked, cut out and labelled, and drawn ones are checked as the model and the key say', async () => {
  const models = await tinyModels();
  await addTransformModels(models);
  await addCheckedModel(models, { mode: 'mark' });
  const stack = await startStack(server, { LEHR_MODELS: models });
  const transform = async (model: string, input: object = {}, asker = stack): Promise<Job> => {
    const image = dataUri(await speckled());
    const body = { type: 'picture-transform', model, input: { image, ...input } };
    const response = await asker.ask('POST', '/v1/jobs', body);
    expect(response.status, await response.clone().text()).toBe(202);
    return (await response.json()) as Job;
  };
  const draw = (asker: Stack, n = 1): Promise<Job> => asker.post({ seed: 4, n }, { model: 'checked' });
  const worker = stack.worker();
  const [blurs, refuses] = await Promise.all(
    ['blur', 'refuse'].map((safety) => newTenant(stack, { safety })),
  );
  const jobs = {
    larger: await transform('sharp'),
    scaled: await transform('sharp', { scale: 1.5, output_format: 'jpeg' }),
    mask: await transform('marks'),
    cutout: await transform('marks', { output: 'cutout', output_format: 'webp' }),
    labels: await transform('sorts', { top_k: 2 }),
    marked: await draw(stack, 2),
    blurred: await draw(blurs),
    refused: await draw(refuses),
  };
  await worker;
  const larger = Buffer.from(await fileOf(stack, jobs.larger.id));
  expect(pictureFile(larger)).toEqual({ format: 'png', size: '128x128' });
  expect(larger.toString('latin1')).toContain('"model":"sharp@1","scale":2');
  expect(await sharp(await fileOf(stack, jobs.scaled.id)).metadata()).toMatchObject({
    format: 'jpeg',
    width: 96,
    height: 96,
  });
  expect(await sharp(await fileOf(stack, jobs.mask.id)).metadata()).toMatchObject({ channels: 1, width: 64 });
  expect(await sharp(await fileOf(stack, jobs.cutout.id)).metadata()).toMatchObject({
    format: 'webp',
    hasAlpha: true,
  });
  const labelled = await stack.over(jobs.labels.id);
  expect(labelled).toMatchObject({ model: 'sorts@1' });
  // The checks of the drawn pictures may have shared its run.
  expect(labelled.metrics?.batch_size).toBeGreaterThanOrEqual(1);
  const [[best, second]] = labelled.output?.labels ?? [[]];
  expect(SORTS).toContain(best.label);
  expect(best.score).toBeGreaterThanOrEqual(second.score);
  await expectChecked(stack, jobs, blurs, refuses);
});

async function expectChecked(
  stack: Stack,
  { marked, blurred, refused }: Record<'marked' | 'blurred' | 'refused', Job>,
  blurs: Stack,
  refuses: Stack,
): Promise<void> {
  const { output } = await stack.over(marked.id);
  const flagged = { flagged: true, label: expect.stringMatching(SORTS.join('|')), score: expect.any(Number) };
  expect(output?.images).toMatchObject([
    { seed: 4, safety: flagged },
    { seed: 5, safety: flagged },
  ]);
  const [drawn, hidden] = await Promise.all(
    [await fileOf(stack, marked.id), await fileOf(blurs, blurred.id)].map((file) => sharp(file).stats()),
  );
  expect((await blurs.over(blurred.id)).output?.images).toMatchObject([{ safety: flagged }]);
  expect(hidden.sharpness).toBeLessThan(drawn.sharpness / 4);
  const failed = await refuses.over(refused.id);
  expect(failed).toMatchObject({
    status: 'failed',
    output: null,
    error: { code: 'unsafe-picture', retryable: false },
  });
  const openai = await refuses.ask('POST', '/v1/images/generations', { model: 'checked', prompt: 'a cat' });
  expect(openai.status).toBe(400);
  expect(await openai.json()).toMatchObject({ error: { code: 'content_policy_violation' } });
  const unchecked = await refuses.ask('POST', '/v1/jobs', {
    type: 'text-to-image',
    model: 'tiny',
    input: { prompt: 'a cat' },
  });
  expect(unchecked.status).toBe(403);
  // The key's setting holds for a repeated job, too.
  const again = await refuses.ask('POST', `/v1/jobs/${refused.id}/retry`, {});
  expect((await refuses.over(((await again.json()) as Job).id)).error?.code).toBe('unsafe-picture');
}

test('An edit that is canceled in its second pass leaves no output and no checkpoint in the store, and once deleted nothing', {
  tags: ['long'],
}, async () => {
  const home = await tempFolder('home');
  const models = await tinyModels({ vaeEncoder: true });
  const limits = await readFile(models, 'utf8');
  await writeFile(models, limits.replace('max_size: 512', 'max_size: 1024').replace('262144', '1048576'));
  const stack = await startStack(server, { LEHR_MODELS: models, LEHR_HOME: home });
  await stack.worker({ LEHR_CHECKPOINT_STEPS: '1' });
  // The second pass has a latent that Redis does not take, and takes much longer than this test.
  const { id } = await stack.post({
    image: dataUri(await speckled()),
    mask: dataUri(await disc()),
    ...{ width: 512, height: 512, steps: 4, strength: 0.5 },
    hires: { scale: 2, steps: 900, strength: 1, upscaler: 'lanczos' },
  });
  const stored = async (): Promise<string[]> =>
    (await readdir(join(home, 'objects'), { recursive: true })).filter(
      (name) => name.includes(id) && name.endsWith('object'),
    );
  const reaches = (assertion: () => Promise<void>) =>
    vi.waitFor(assertion, { timeout: 30_000, interval: 20 });
  await reaches(async () => {
    const { progress } = (await (await stack.ask('GET', `/v1/jobs/${id}`)).json()) as Job;
    // Two steps are the first pass.
    expect(progress).toMatchObject({ step: expect.any(Number), steps: 902 });
    expect(progress?.step).toBeGreaterThan(2);
    expect((await stored()).filter((name) => /checkpoints/.test(name))).toHaveLength(1);
  });
  expect((await stack.ask('POST', `/v1/jobs/${id}/cancel`)).ok).toBe(true);
  expect((await stack.over(id)).status).toBe('canceled');
  // What it was given is kept for a retry, until the job is deleted.
  await reaches(async () => expect((await stored()).filter((name) => !name.startsWith('in'))).toEqual([]));
  expect(await stored()).toHaveLength(2);
  expect((await stack.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  await reaches(async () => expect(await stored()).toEqual([]));
});

test('A workflow refines the picture of an earlier node, and is deleted with both', {
  tags: ['long'],
}, async () => {
  const stack = await newStack();
  await Promise.all([stack.worker(), stack.worker()]);
  const base = { id: 'base', type: 'text-to-image', input: { prompt: 'a red circle', seed: 1 } };
  const refine = {
    id: 'refine',
    type: 'text-to-image',
    input: { prompt: 'a red circle', seed: 1, image: '{{base.image}}', strength: 0.25 },
  };
  // The picture of `base` in two parts: the second continues the latent of the first.
  const half = { ...base, id: 'half', input: { ...base.input, denoising_end: 0.6 } };
  const rest = {
    ...base,
    id: 'rest',
    input: { ...base.input, image: '{{half.latent}}', denoising_start: 0.6 },
  };
  // What is bright in the first picture is drawn again in the second one.
  const masked = {
    prompt: 'a blue square',
    seed: 2,
    image: '{{refine.image}}',
    mask: '{{base.image}}',
    steps: 4,
  };
  const edit = { ...base, id: 'edit', input: masked };
  const nodes = [refine, base, half, rest, edit];
  const posted = await stack.ask('POST', '/v1/jobs', { type: 'workflow', nodes });
  expect(posted.status).toBe(202);
  const { id, input } = (await posted.json()) as Job;
  expect(input).toMatchObject({
    nodes: [
      { id: 'refine', input: { image: '{{base.image}}' } },
      { id: 'base' },
      { id: 'half' },
      { id: 'rest' },
      { id: 'edit', input: { image: '{{refine.image}}', mask: '{{base.image}}' } },
    ],
  });
  const job = await stack.over(id);
  expect(job).toMatchObject({ status: 'succeeded' });
  const outputs = new Map(job.nodes?.map((node) => [node.id, node.output?.images?.[0].url ?? '']));
  const bytes = async (node: string) =>
    Buffer.from(await (await fetch(outputs.get(node) ?? '')).arrayBuffer());
  const [drawn, refined] = [await bytes('base'), await bytes('refine')];
  expect(pixelData(refined)).not.toBe(pixelData(drawn));
  expect(pixelData(await bytes('rest'))).toBe(pixelData(drawn));
  expect(pixelData(await bytes('half'))).not.toBe(pixelData(drawn));
  const latent = job.nodes?.find((node) => node.id === 'half')?.output?.images?.[0].latent_url ?? '';
  expect((await fetch(latent)).status).toBe(200);
  // The same as a job that is given the picture itself.
  const { id: alone } = await stack.post({ ...refine.input, image: dataUri(drawn) });
  expect(await pixelsOf(stack, alone)).toBe(pixelData(refined));
  const { id: edited } = await stack.post({ ...masked, image: dataUri(refined), mask: dataUri(drawn) });
  expect(await pixelsOf(stack, edited)).toBe(pixelData(await bytes('edit')));

  expect((await stack.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  for (const url of [outputs.get('base'), outputs.get('refine'), latent])
    expect((await fetch(url ?? '')).status).toBe(404);
  expect((await stack.over(alone)).status).toBe('succeeded');
});

test('The refiner of SDXL improves the picture of a base model on another worker, and refuses to draw without one', {
  tags: ['long'],
}, async () => {
  const models = await tinyModels();
  unpackFixture('sdxl-refiner', join(dirname(models), 'refiner'));
  const limits = 'limits: { min_size: 64, max_size: 128, size_step: 8 }';
  await appendFile(
    models,
    `  - { name: refiner, task: diffusion, ${limits}, versions: [{ version: "1", path: refiner }] }\n`,
  );
  const stack = await startStack(server, { LEHR_MODELS: models });
  await Promise.all([stack.worker(), stack.worker()]);
  const prompt = 'a red circle';
  const base = { id: 'base', type: 'text-to-image', model: 'tiny', input: { prompt, seed: 1 } };
  const refined = { prompt, seed: 1, image: '{{base.image}}', steps: 10 };
  const refine = { id: 'refine', type: 'text-to-image', model: 'refiner', input: refined };
  const posted = await stack.ask('POST', '/v1/jobs', { type: 'workflow', nodes: [base, refine] });
  const { id } = (await posted.json()) as Job;
  const job = await stack.over(id);
  expect(job.error).toBeNull();
  expect(job.nodes).toMatchObject([
    { id: 'base', model: 'tiny@1', output: { images: [{ width: 64 }] } },
    { id: 'refine', model: 'refiner@1', output: { images: [{ width: 64, height: 64 }] } },
  ]);
  const record = await stack.ask('GET', `/v1/jobs/${job.nodes?.[1].job}`);
  // diffusers makes three tenths of the steps.
  expect(await record.json()).toMatchObject({ input: { strength: 0.3, steps: 10, guidance: 5 } });

  // The API sees that the folder of the base has no VAE encoder.
  const image = dataUri(await png('#fff'));
  const toBase = { type: 'text-to-image', model: 'tiny', input: { prompt, image } };
  expect(await (await stack.ask('POST', '/v1/jobs', toBase)).json()).toMatchObject({
    status: 422,
    errors: [
      { pointer: '/input/image', detail: 'cannot be used with tiny, whose folder has no VAE encoder' },
    ],
  });
  const without = { type: 'text-to-image', model: 'refiner', input: { prompt } };
  const refused = await stack.ask('POST', '/v1/jobs', without);
  expect(await refused.json()).toMatchObject({ status: 422, errors: [{ pointer: '/input/image' }] });
});

test('An unusable picture is refused with the field named, or fails its job with the reason', {
  tags: ['long'],
}, async () => {
  const stack = await newStack();
  await expectRefusals(stack);
  const worker = await stack.worker();
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
  const huge = await plain('#fff', 9000, 9000).png({ compressionLevel: 9 }).toBuffer();
  const [drawing, bomb, unknown] = await Promise.all([
    failureOf(stack, dataUri(svg, 'image/svg+xml')),
    failureOf(stack, dataUri(huge)),
    failureOf(stack, 'https://no-such-host.invalid/a.png'),
  ]);
  expect(drawing).toMatchObject({
    code: 'invalid-input',
    detail: expect.stringContaining('PNG, JPEG or WebP'),
  });
  expect(bomb).toMatchObject({ code: 'invalid-input', detail: expect.stringContaining('64000000 pixels') });
  expect(unknown).toMatchObject({
    code: 'invalid-input',
    retryable: false,
    detail: expect.stringContaining('The picture could not be fetched'),
  });
  const original = dataUri(await png('#c83264'));
  const masks = [await png('#000'), await plain('#fff', 48, 48).png().toBuffer(), huge, svg];
  const failures = await Promise.all(
    masks.map((mask) => failureOf(stack, original, { mask: dataUri(mask) })),
  );
  expect(failures).toMatchObject(
    ['nothing to change', 'both must have the same size', '64000000 pixels', 'PNG, JPEG or WebP'].map(
      (reason) => ({
        code: 'invalid-input',
        retryable: false,
        detail: expect.stringMatching(new RegExp(`/input/mask .*${reason}`)),
      }),
    ),
  );
  // The worker goes on.
  expect((await stack.over((await stack.post()).id)).status).toBe('succeeded');
  expect(worker.lines.filter(({ msg }) => msg === 'engine died')).toEqual([]);
});

/** Requests with an unusable picture or strength are refused with the field named, and no job is stored. */
async function expectRefusals(stack: Stack): Promise<void> {
  const image = dataUri(await png('#fff'));
  const wrong: [pointer: string, input: object][] = [
    ['/input/image', { image: 'ftp://example.com/a.png' }],
    ['/input/image', { image: 'http://169.254.169.254/latest' }],
    ['/input/image', { image: 'http://127.0.0.1:6379/' }],
    ['/input/image', { image: 'file_01jd3v9s6w0000000000000000' }],
    ['/input/image', { image: 'data:image/png;base64,' }],
    ['/input/image', { image: '{{base.image}}' }],
    ['/input/strength', { image, strength: 0 }],
    ['/input/strength', { image, strength: 1.5 }],
    ['/input/strength', { image, strength: 0.1, steps: 5 }],
    ['/input/strength', { strength: 0.5 }],
    ['/input/mask', { mask: image }],
    ['/input/mask', { image, mask: 'http://127.0.0.1:6379/' }],
    ['/input/mask', { image, mask: 'data:image/png;base64,' }],
    ['/input/mask', { image, mask: '{{base.image}}' }],
    ['/input/mask_blur', { image, mask: image, mask_blur: 65 }],
    ['/input/only_masked/padding', { image, mask: image, only_masked: { padding: 513 } }],
    ['/input/expand', { image, expand: {} }],
    ['/input/expand/left', { image, expand: { left: -8 } }],
  ];
  for (const [pointer, input] of wrong) {
    const body = { type: 'text-to-image', input: { prompt: 'x', ...input } };
    const response = await stack.ask('POST', '/v1/jobs', body);
    expect(response.status, JSON.stringify(input).slice(0, 80)).toBe(422);
    expect(await response.json()).toMatchObject({ errors: [{ pointer }] });
  }
  const { data } = (await (await stack.ask('GET', '/v1/jobs')).json()) as { data: Job[] };
  expect(data).toEqual([]);
}
