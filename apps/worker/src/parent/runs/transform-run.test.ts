import {
  type LeaseToken,
  type PictureTransformInput,
  pngTexts,
  type TransformModelEntry,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import type {
  TransformAbilities,
  TransformedMessage,
  TransformResult,
  TransformSample,
} from '../../engine/protocol/messages.ts';
import { PictureReader } from './picture-reader.ts';
import { TransformRun } from './transform-run.ts';

/** 3 by 2 pixels as they are shown, all different. */
const SHOWN = Uint8Array.from({ length: 18 }, (_, i) => i * 14);
const raw = { raw: { width: 3, height: 2, channels: 3 } } as const;

interface Transformed {
  readonly run: TransformRun;
  readonly sent: TransformSample;
  /** What was stored, with its file. */
  readonly end: (result: TransformResult) => Promise<{ output: object; metrics: object; file: Uint8Array }>;
}

async function transformed(
  abilities: TransformAbilities,
  fields: Partial<PictureTransformInput> = {},
  picture: Promise<Uint8Array> = sharp(SHOWN, raw).png().toBuffer(),
  maxPixels = 100,
): Promise<Transformed> {
  const record = {
    id: 'job_1',
    state: 'running',
    type: 'picture-transform',
    queue: 'transform.sharp@1',
    model: 'sharp@1',
    tenant: 'acme',
    created_at: 1000,
    started_at: 1040,
  };
  const input: PictureTransformInput = { image: { kind: 'url', url: 'https://x.example/a.png' }, ...fields };
  const claim = { jobId: record.id, queue: record.queue, token: 'lease' as LeaseToken } as Claim;
  let file = new Uint8Array();
  let now = 100;
  const run = new TransformRun(claim, record as unknown as JobRecord, 100, input, {
    // Each look at the clock is 10 ms later.
    clock: { monotonic: () => (now += 10) } as never,
    store: {
      put: async (_run: unknown, _key: unknown, bytes: Uint8Array<ArrayBuffer>, contentType: string) => {
        file = bytes;
        return { contentType, bytes: bytes.length, sha256: 'abc' };
      },
    } as never,
    fetchMedia: () => picture,
    pictures: new PictureReader({ fileBytes: 1e6, filesBytes: 1e7, decodedBytes: 1e7 }),
    costOf: (queue, rows) => (queue === 'transform.sharp@1' ? 7 * rows : 0),
    abilities,
    entry: { limits: { max_pixels: maxPixels } } as TransformModelEntry,
  });
  const [sample] = await run.begin();
  sample.submittedAt = 110;
  const sent = sample.request as TransformSample;
  return {
    run,
    sent,
    end: async (result) => {
      const message: TransformedMessage = {
        type: 'transformed',
        sample: sent.id,
        result,
        tiles: 3,
        batchSize: 2,
        timings: { startedAt: 3, endedAt: 9, deviceMs: 2.5 },
      };
      expect(await run.addResult(sample, message)).toEqual([]);
      expect(run.isDone).toBe(true);
      // The API has only guessed the size of a picture at a URL.
      expect(run.realCostMs).toBe(21);
      return { ...(run.successFields('worker') as { output: object; metrics: object }), file };
    },
  };
}

const ENLARGES: TransformAbilities = { result: 'picture', scale: 2, tile: 256 };
const MARKS: TransformAbilities = { result: 'mask', scale: 1 };

test('A picture is sent as it is shown and comes back as a file that names its model, with the times of its parts', async () => {
  const turned = sharp(SHOWN, raw).rotate(-90).withMetadata({ orientation: 6 }).png().toBuffer();
  const { sent, end } = await transformed(ENLARGES, {}, turned);
  expect(sent).toMatchObject({ lane: 'transform.sharp@1', width: 3, height: 2, topK: 5 });
  expect([...sent.pixels]).toEqual([...SHOWN]);
  const pixels = new Uint8Array(6 * 4 * 3).fill(200);
  const { output, metrics, file } = await end({ kind: 'picture', pixels, width: 6, height: 4 });
  expect(output).toEqual({
    images: [
      {
        key: 'out/acme/job_1/lease/0.png',
        content_type: 'image/png',
        width: 6,
        height: 4,
        bytes: file.length,
        sha256: 'abc',
      },
    ],
  });
  expect(JSON.parse(pngTexts(file).get('lehr') ?? '')).toEqual({ job: 'job_1', model: 'sharp@1', scale: 2 });
  expect(metrics).toEqual({
    queue_ms: 40,
    run_ms: 30,
    total_ms: 70,
    batch_size: 2,
    worker: 'worker',
    timings: { queued: 40, fetch: 10, wait: 3, run: 6, encode: 1, upload: 10 },
    device_ms: 2.5,
  });
});

test('Another scale than that of the model is reached after its graph', async () => {
  const { end } = await transformed(ENLARGES, { scale: 1.5 });
  const pixels = new Uint8Array(6 * 4 * 3).fill(200);
  const { output, file } = await end({ kind: 'picture', pixels, width: 6, height: 4 });
  expect(output).toMatchObject({ images: [{ width: 5, height: 3 }] });
  expect(await sharp(file).metadata()).toMatchObject({ width: 5, height: 3 });
});

test('A mask is a grey file, and a cutout is the picture with the mask as its alpha', async () => {
  const values = Uint8Array.of(0, 50, 100, 150, 200, 255);
  const mask = { kind: 'mask', values, width: 3, height: 2 } as const;
  const grey = await (await transformed(MARKS)).end(mask);
  expect(await sharp(grey.file).metadata()).toMatchObject({ space: 'b-w', channels: 1 });
  expect([...(await sharp(grey.file).toColourspace('b-w').raw().toBuffer())]).toEqual([...values]);
  const { file } = await (await transformed(MARKS, { output: 'cutout' })).end(mask);
  const cutout = await sharp(file).raw().toBuffer();
  const expected = [...values].flatMap((alpha, i) => [...SHOWN.subarray(3 * i, 3 * i + 3), alpha]);
  expect([...cutout]).toEqual(expected);
});

test('Labels are the result of a model that classifies, and no file is stored', async () => {
  const abilities: TransformAbilities = { result: 'class', scale: 1, labels: ['cat', 'dog'] };
  const { end, sent } = await transformed(abilities, { top_k: 2 });
  expect(sent.topK).toBe(2);
  const labels = [{ label: 'dog', score: 0.9 }];
  const { output, file, metrics } = await end({ kind: 'class', labels });
  expect(output).toEqual({ images: [], labels });
  expect(file.length).toBe(0);
  expect(metrics).toMatchObject({ timings: { encode: 0, upload: 0 } });
});

test('Progress counts the tiles that are done', async () => {
  const wide = sharp({ create: { width: 600, height: 300, channels: 3, background: '#888' } });
  const { run } = await transformed(ENLARGES, {}, wide.png().toBuffer(), 1e6);
  const [sample] = run.samples;
  expect([sample.rows, run.progress]).toEqual([6, { fraction: 0, stage: 'transform', step: 0, steps: 6 }]);
  Object.assign(sample, { step: 3, steps: 12 });
  expect(run.progress).toEqual({ fraction: 0.25, stage: 'transform', step: 3, steps: 12 });
});

test('A picture that is too large for its model is refused with the field named, before it is decoded', async () => {
  await expect(transformed(ENLARGES, {}, undefined, 5)).rejects.toMatchObject({
    code: 'invalid-input',
    problems: [{ pointer: '/input/image', detail: 'has 3x2 pixels; the model takes at most 5' }],
  });
});
