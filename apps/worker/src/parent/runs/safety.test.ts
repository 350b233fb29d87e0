import {
  type Clock,
  type LeaseToken,
  pngTexts,
  silentLog,
  systemClock,
  type TextToImageInput,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import type { FromEngine, SampleId, ToEngine, TransformedMessage } from '../../engine/protocol/messages.ts';
import { editWork } from './edit-work.ts';
import { InputShares } from './input-shares.ts';
import type { SampleRun } from './job-run.ts';
import { LaneRows } from './lane-rows.ts';
import { PictureRun } from './picture-run.ts';
import { Runs } from './runs.ts';
import { blurredPicture, labelProblem, newCheck, type Safety, verdictOf } from './safety.ts';

const RULE: Safety = { mode: 'mark', model: 'judge@1', labels: ['gore', 'nsfw'], threshold: 0.6 };
const RECORD = {
  id: 'job_1',
  state: 'running',
  type: 'text-to-image',
  queue: 'diffusion.tiny@1.64x64',
  model: 'tiny@1',
  tenant: 'acme',
  priority: 'bulk',
  created_at: 0,
  started_at: 0,
} as unknown as JobRecord;

const judged = (...labels: [label: string, score: number][]): TransformedMessage => ({
  type: 'transformed',
  sample: 'check' as SampleId,
  result: { kind: 'class', labels: labels.map(([label, score]) => ({ label, score })) },
  tiles: 1,
  batchSize: 1,
  timings: { startedAt: 0, endedAt: 1, deviceMs: 1 },
});

test('The verdict is that of the unsafe label with the highest score, from the threshold on', () => {
  const verdict = (...labels: [string, number][]) => verdictOf(judged(...labels), RULE);
  expect(verdict(['fine', 0.9], ['gore', 0.06], ['nsfw', 0.04])).toEqual({
    flagged: false,
    label: 'gore',
    score: 0.06,
  });
  expect(verdict(['nsfw', 0.6], ['fine', 0.4], ['gore', 0])).toMatchObject({ flagged: true, label: 'nsfw' });
});

test('A classifier without one of the unsafe labels is named with those that it has', () => {
  expect(labelProblem(['nsfw'], ['nsfw', 'fine'])).toBeUndefined();
  expect(labelProblem(['nsfw', 'gore'], ['fine'])).toBe(
    'does not know the label nsfw, gore of safety.labels; its labels: fine.',
  );
});

/** Squares of 32 pixels, black and white in turn. */
const squares = (width: number, height: number) => ({
  width,
  height,
  data: Uint8Array.from({ length: width * height * 3 }, (_, i) => {
    const x = Math.floor(i / 3) % width;
    const y = Math.floor(i / 3 / width);
    return ((x >> 5) + (y >> 5)) % 2 === 0 ? 255 : 0;
  }),
});

test('Of squares of 32 pixels a blurred picture of any shape shows nothing', async () => {
  for (const picture of [squares(512, 512), squares(512, 64), squares(1, 1)]) {
    const { data, width, height } = await blurredPicture(picture);
    expect([width, height, data.length]).toEqual([picture.width, picture.height, picture.data.length]);
    if (width === 1) continue;
    const { channels } = await sharp(data, { raw: { width, height, channels: 3 } }).stats();
    expect(channels[0].stdev).toBeLessThan(40);
  }
});

test('A large picture is checked at a smaller size of its shape, a usual one as it is', async () => {
  const large = await newCheck(RECORD, RULE, squares(4096, 1024));
  expect(large.request).toMatchObject({
    task: 'transform',
    model: 'judge@1',
    lane: 'transform.judge@1',
    priority: 'bulk',
    width: 2048,
    height: 512,
  });
  expect(large.request.pixels.length).toBe(2048 * 512 * 3);
  const usual = squares(64, 64);
  expect((await newCheck(RECORD, RULE, usual)).request.pixels).toBe(usual.data);
});

interface Drawing {
  readonly run: PictureRun;
  readonly stored: Map<string, Uint8Array>;
  /** Takes a drawn picture; returns its check. */
  readonly draw: (index: number) => Promise<SampleRun>;
}

function drawing(mode: Safety['mode'], n = 1): Drawing {
  const stored = new Map<string, Uint8Array>();
  const claim = { jobId: 'job_1', queue: RECORD.queue, token: 'lease' as LeaseToken } as Claim;
  const input = {
    prompt: 'x',
    width: 64,
    height: 64,
    steps: 2,
    guidance: 1,
    seed: 7,
    n,
    output_format: 'png',
  };
  const run = new PictureRun(claim, RECORD, 0, input as TextToImageInput, {
    store: {
      put: async (_run: unknown, key: string, bytes: Uint8Array, contentType: string) => {
        stored.set(key, bytes);
        return { contentType, bytes: bytes.length, sha256: 'abc' };
      },
    } as never,
    fetchMedia: () => Promise.reject(new Error('This test fetches nothing.')),
    pictures: { read: () => Promise.reject(new Error('This test reads nothing.')), work: editWork },
    clock: { monotonic: () => 5 } as never,
    guidance: 'rows',
    readCheckpoints: async () => new Map(),
    safety: { ...RULE, mode },
    companions: ['judge@1'],
  });
  const draw = async (index: number): Promise<SampleRun> => {
    const [check] = await run.addResult(run.samples[index], drawn(run.samples[index]));
    return check;
  };
  return { run, stored, draw };
}

function drawn({ request }: SampleRun): Extract<FromEngine, { type: 'finished' }> {
  const { data: pixels, ...size } = squares(64, 64);
  const timings = { textMs: 0, startedAt: 0, denoisedAt: 1, decodedAt: 2, decodeMs: 1, deviceMs: 1 };
  const latent = Uint8Array.of(1, 2, 3);
  return {
    type: 'finished',
    sample: request.id,
    pixels,
    ...size,
    latent,
    batchSize: 1,
    cuts: {},
    sizes: {},
    timings,
  };
}

const UNSAFE = judged(['nsfw', 0.9], ['gore', 0.1]);

test('Nothing of a picture is stored before its check, and the models of both are in use until then', async () => {
  const { run, stored, draw } = drawing('mark', 2);
  const [first, second] = run.samples;
  const check = await draw(1);
  expect(stored.size).toBe(0);
  expect(run.samples).toEqual([first, second, check]);
  expect([run.isDone, run.hidesPreviews, run.models]).toEqual([false, false, ['tiny@1', 'judge@1']]);
  await run.addResult(check, UNSAFE);
  await run.addResult(await draw(0), judged(['nsfw', 0.1], ['gore', 0]));
  expect([run.isDone, run.samples.length, run.outcomes]).toEqual([true, 2, ['marked', 'safe']]);
  expect(run.successFields('worker')).toMatchObject({
    output: {
      images: [
        { seed: 7, safety: { flagged: false, label: 'nsfw', score: 0.1 } },
        { seed: 8, latent: 'out/acme/job_1/lease/1.safetensors', safety: { flagged: true, score: 0.9 } },
      ],
    },
  });
});

test('Of an unsafe picture that is blurred, neither its pixels nor its latent are stored, and no previews are shown', async () => {
  const { run, stored, draw } = drawing('blur');
  expect(run.hidesPreviews).toBe(true);
  await run.addResult(await draw(0), UNSAFE);
  expect([...stored.keys()]).toEqual(['out/acme/job_1/lease/0.png']);
  const [file] = stored.values();
  expect(JSON.parse(pngTexts(file).get('lehr') ?? '')).toMatchObject({ blurred: true });
  const pixels = await sharp(file).raw().toBuffer();
  expect(Buffer.from(squares(64, 64).data).equals(pixels)).toBe(false);
  expect(run.outcomes).toEqual(['blurred']);
});

test('An unsafe picture that is refused fails its job for good, and nothing of it is stored', async () => {
  const { run, stored, draw } = drawing('refuse');
  await expect(run.addResult(await draw(0), UNSAFE)).rejects.toMatchObject({
    code: 'unsafe-picture',
    retryable: false,
    message: 'The picture was found unsafe (nsfw, 0.90) and is not given out.',
  });
  expect([stored.size, run.outcomes]).toEqual([0, ['refused']]);
});

test('An engine that dies during a check gets the check again, and not the picture that is drawn', async () => {
  const { run, stored } = drawing('mark');
  const sent: ToEngine[] = [];
  const runs = new Runs({
    laneRows: new LaneRows({ firstCap: () => 8, usualRows: () => 1 }, () => {}),
    inputs: new InputShares(() => {}),
    progress: { note: () => {}, forget: () => {} },
    previews: { stepped: () => {}, publish: async () => {} },
    clock: systemClock as Clock,
    log: silentLog,
    send: (message) => sent.push(message),
  });
  const ended = runs.run(run);
  await expect.poll(() => sent.length).toBe(1);
  runs.endSample(drawn(run.samples[0]));
  await expect.poll(() => sent.length).toBe(2);
  const check = run.samples[1].request;
  expect(runs.usesModel('judge@1')).toBe(true);
  runs.engineDied({ code: null, signal: 'SIGKILL', hung: false });
  runs.resubmit();
  expect(sent.at(-1)).toMatchObject({ type: 'submit', samples: [{ id: check.id, task: 'transform' }] });
  expect([sent.length, stored.size]).toEqual([3, 0]);
  runs.endSample({ ...UNSAFE, sample: check.id });
  await ended;
  expect([run.isDone, run.outcomes]).toEqual([true, ['marked']]);
});
