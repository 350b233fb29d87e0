/**
 * Weighted and long prompts: read as AUTOMATIC1111's web UI reads them, and encoded as torch computes its published arithmetic. The expected states
 * are made by lab/real/diffusion/prompt_states.py, which checks them with compel too, where both are equal.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseWeightedPrompt } from '@lehr/shared/prompts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openClipTokenizer } from '../../apps/worker/src/engine/diffusion/folder/clip-tokenizer.ts';
import { readDiffusionConfig } from '../../apps/worker/src/engine/diffusion/folder/diffusion-config.ts';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { openTextEncoders } from '../../apps/worker/src/engine/diffusion/folder/open-text-encoders.ts';
import { rewireTimestep } from '../../apps/worker/src/engine/diffusion/folder/rewire-unet.ts';
import type { PromptEncoder } from '../../apps/worker/src/engine/diffusion/text-encoder.ts';
import { Unet } from '../../apps/worker/src/engine/diffusion/unet.ts';
import { ModelAdapters } from '../../apps/worker/src/engine/models/adapters/model-adapters.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { largestDifference } from '../../apps/worker/src/engine/runtime/tensor.ts';
import {
  casesOf,
  denoise,
  relativeDistance,
  type StatesCase,
  sampleOf,
  statesCases,
  unpackFixture,
} from '../support/diffusion-fixtures.ts';

const FIXTURE = new URL('../../lab/real/diffusion/fixtures/prompts/', import.meta.url).pathname;
const GOLDEN = new URL('../golden/prompts/webui.json', import.meta.url).pathname;

const CASES = statesCases();
/** It was trained with the last layer but one, which is its 2. */
const hasCase = (base: string, { clip_skip }: StatesCase): boolean => base !== 'sdxl' || clip_skip !== 2;

const written = ({ prompt, clip_skip }: StatesCase) =>
  ({ text: prompt, syntax: 'weighted', clipSkip: clip_skip ?? undefined, field: 'prompt' }) as const;

function expected(base: string, file: string): Float32Array {
  return new Float32Array(new Uint8Array(readFileSync(join(FIXTURE, base, `${file}.f32`))).buffer);
}

describe.each(['sd15', 'sd21', 'sdxl'])('The text encoders of %s', (base) => {
  let folder: string;
  let encoder: PromptEncoder;
  const sessions: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lehr-prompts-'));
    unpackFixture(base, folder);
    const load: typeof onnxRuntime.load = async (...graph) => {
      const session = await onnxRuntime.load(...graph);
      sessions.push(session);
      return session;
    };
    const config = await readDiffusionConfig(folder);
    const options = { providers: ['cpu'], threads: 1 } as const;
    encoder = (
      await openTextEncoders(folder, config, { ...onnxRuntime, load }, options, new ModelAdapters([], 2))
    ).textEncoder;
  });
  afterAll(async () => {
    for (const session of sessions) await session.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(CASES.filter((each) => hasCase(base, each)))(
    'give the states of torch for $name',
    async (each) => {
      const [embedding] = await encoder.encode([written(each)]);
      expect(embedding.hidden).toHaveLength(each.chunks * 77 * encoder.embeddingDim);
      expect(largestDifference(embedding.hidden, expected(base, each.name))).toBeLessThanOrEqual(1e-5);
      expect(embedding.size?.chunks).toBe(each.chunks);
      expect(embedding.cut).toBeUndefined();
      if (base !== 'sdxl') return;
      const pooled = expected(base, `${each.name}.pooled`);
      expect(largestDifference(embedding.pooled ?? new Float32Array(), pooled)).toBeLessThanOrEqual(1e-5);
    },
  );

  test('give the same states for prompts of different lengths, weights and layers that are encoded at once', async () => {
    const cases = CASES.filter((each) => hasCase(base, each));
    const together = await encoder.encode(['a red circle', ...cases.map(written)]);
    for (const [i, each] of cases.entries()) {
      expect(largestDifference(together[i + 1].hidden, expected(base, each.name))).toBeLessThanOrEqual(1e-5);
    }
    // A weighted prompt without signs is the plain one.
    expect(largestDifference(together[0].hidden, expected(base, 'plain'))).toBeLessThanOrEqual(1e-5);
  });

  test('refuse a layer that they lack, and one that the family was not trained with', async () => {
    const at = (clipSkip: number) => encoder.encode([{ ...written(CASES[0]), clipSkip }]);
    await expect(at(99)).rejects.toThrow(/\/input\/clip_skip is 99, must be at most \d+ for this model/);
    if (base === 'sdxl') await expect(at(1)).rejects.toThrow('/input/clip_skip is 1, must be at least 2');
  });
});

describe('Pictures of Stable Diffusion 1.5', () => {
  let folder: string;
  let model: DiffusionModel;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lehr-prompts-'));
    unpackFixture('sd15', folder);
    model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
  });
  afterAll(async () => {
    await model?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const [base] = casesOf('sd15');
  const letters = 'ab '.repeat(100);
  const weighted = { ...base, promptSyntax: 'weighted' } as const;
  /** Of 1, 1, 3, 1 and 3, 5 and 1 chunks. */
  const PICTURES = [
    base,
    { ...weighted, prompt: 'a (red:1.4) [circle]', seed: 5 },
    { ...weighted, prompt: letters, seed: 6, steps: 4 },
    { ...weighted, prompt: 'a cat', negative_prompt: letters, seed: 7, steps: 5 },
    { ...weighted, prompt: 'a BREAK b BREAK c BREAK d BREAK (e)', seed: 8 },
    { ...weighted, prompt: 'a red circle', clipSkip: 2, seed: 9 },
  ];

  test('with plain, weighted and long prompts in one batch are those that are drawn alone, bit for bit', async () => {
    const together = await Promise.all(PICTURES.map((each) => sampleOf(model, each)));
    await denoise(model, together);
    for (const [i, each] of PICTURES.entries()) {
      const alone = await sampleOf(model, each);
      await denoise(model, [alone]);
      expect(together[i].denoising.latent).toEqual(alone.denoising.latent);
    }
    expect(together[3].prompt.sizes).toEqual({
      prompt: { tokens: 4, chunks: 1 },
      negativePrompt: { tokens: 200, chunks: 3 },
    });
  });

  test('that share UNet calls by repeating their prompts, as on a GPU, are within 1e-5 of those drawn alone', async () => {
    const path = join(folder, 'unet/model.onnx');
    const { mode } = model.batching;
    const rewiring = rewireTimestep(path);
    if (rewiring.outcome !== 'rewired' || mode !== 'rows') throw new Error('Wanted a rewired graph.');
    const options = { providers: ['cpu'], threads: 1 } as const;
    const session = await onnxRuntime.load({ path, bytes: rewiring.bytes }, options);
    try {
      const sharing = {
        ...model,
        unet: new Unet(session, { mode }, { embeddingDim: 16, sharesLengths: true }),
      };
      const together = await Promise.all(PICTURES.map((each) => sampleOf(sharing, each)));
      await denoise(sharing, together);
      for (const [i, each] of PICTURES.entries()) {
        const alone = await sampleOf(model, each);
        await denoise(model, [alone]);
        const [shared, own] = [together[i].denoising.latent, alone.denoising.latent];
        expect(relativeDistance(shared, own)).toBeLessThanOrEqual(1e-5);
        const [pixels, wanted] = [await model.vae.decode(shared, each), await model.vae.decode(own, each)];
        expect(Math.max(...pixels.map((value, at) => Math.abs(value - wanted[at])))).toBeLessThanOrEqual(1);
      }
    } finally {
      await session.close();
    }
  });
});

type Run = readonly [weight: number, count: number];
type GoldenPrompt = readonly [
  prompt: string,
  parts: readonly (readonly [text: string, weight: number])[],
  chunks: readonly (readonly [tokens: number, weights: readonly Run[]])[],
];

test('150 random prompts have the parts, chunks and weights that the web UI gives them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-prompts-'));
  try {
    unpackFixture('sd21', folder);
    const tokenizer = await openClipTokenizer(join(folder, 'tokenizer'));
    const end = tokenizer.encode('')[1];
    const golden: readonly GoldenPrompt[] = JSON.parse(readFileSync(GOLDEN, 'utf8'));
    expect(golden).toHaveLength(150);
    for (const [prompt, parts, chunks] of golden) {
      expect(parseWeightedPrompt(prompt).map(({ text, weight }) => [text, weight])).toEqual(parts);
      const read = tokenizer.tokenizeWeighted(prompt, 8)?.chunks ?? [];
      expect(read.map(({ ids }) => ids.indexOf(end) - 1)).toEqual(chunks.map(([tokens]) => tokens));
      const weights = chunks.map(([, runs]) =>
        runs.flatMap(([weight, count]) => new Array(count).fill(weight)),
      );
      expect(read.map((chunk) => chunk.weights ?? new Array(77).fill(1))).toEqual(weights);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
