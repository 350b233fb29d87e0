/**
 * What the demo text model makes of captions of scenes that are not in its training data. The shares are those of the shipped weights
 * (its card has them), less a few captions, because processors round differently.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TextAnswers } from '../../apps/worker/src/engine/protocol/messages.ts';
import { openTextEngine, type TextEngine } from '../support/text-engine.ts';

const DEMO = new URL('../../packages/demo-models/', import.meta.url);
const MODEL = fileURLToPath(new URL('models/demo-text', DEMO));

type Kind = 'shape' | 'colour' | 'size';

interface Caption {
  readonly text: string;
  readonly several: boolean;
  /** Another caption of the same scene. */
  readonly near: string;
  /** A caption of a very different scene. */
  readonly far: string;
  readonly masked: string;
  /** The word under the mask. */
  readonly word: string;
  readonly kind: Kind;
}

/** Made by make_eval_list.py. */
const {
  captions,
  kinds,
}: { captions: readonly Caption[]; kinds: Readonly<Record<Kind, readonly string[]>> } = JSON.parse(
  readFileSync(new URL('train/text/eval/heldout.json', DEMO), 'utf8'),
);

let engine: TextEngine;
beforeAll(async () => {
  engine = await openTextEngine(MODEL);
});
afterAll(() => engine.close());

type AnswersOf<T extends TextAnswers['type']> = Extract<TextAnswers, { type: T }>;

/** Per text, the words for its mask, best first. */
async function fills(texts: readonly string[], topK: number): Promise<string[][]> {
  const [{ answers }] = await engine.answer([{ texts, work: { type: 'fill-mask', topK } }]);
  return (answers as AnswersOf<'fill-mask'>).fills.map(([mask]) => mask.map(({ token_str }) => token_str));
}

async function labels(texts: readonly string[]): Promise<string[]> {
  const work = { type: 'text-classification', topK: 1, function: null } as const;
  const [{ answers }] = await engine.answer([{ texts, work }]);
  return (answers as AnswersOf<'text-classification'>).labels.map(([best]) => best.label);
}

async function embeddings(texts: readonly string[]): Promise<Float32Array[]> {
  const work = { type: 'text-embedding', normalize: null, dimensions: null } as const;
  const [{ answers }] = await engine.answer([{ texts, work }]);
  const { values, dimensions } = answers as AnswersOf<'text-embedding'>;
  return texts.map((_, i) => values.subarray(i * dimensions, (i + 1) * dimensions));
}

/** Of vectors of length 1. */
const cosine = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, i) => sum + value * b[i], 0);

const share = (found: readonly boolean[]): number => found.filter(Boolean).length / found.length;

test('The mask of "a red [MASK] on a blue background" gets five names of shapes', async () => {
  const [words] = await fills(['a red [MASK] on a blue background'], 5);
  expect(words.filter((word) => kinds.shape.includes(word))).toEqual(words);
  expect(words).toHaveLength(5);
});

test('A mask gets words of the kind that it hides: a shape, a color or a size', async () => {
  const found = await fills(
    captions.map(({ masked }) => masked),
    5,
  );
  const isOfKind = (word: string, i: number): boolean => kinds[captions[i].kind].includes(word);
  expect(share(found.map(([best], i) => isOfKind(best, i)))).toBeGreaterThanOrEqual(0.95);
  expect(share(found.flatMap((words, i) => words.map((word) => isOfKind(word, i))))).toBeGreaterThanOrEqual(
    0.93,
  );
  expect(share(found.map((words, i) => words.includes(captions[i].word)))).toBeGreaterThanOrEqual(0.58);
});

test('Captions of one object and of several objects get different labels', async () => {
  const found = await labels(captions.map(({ text }) => text));
  const isRight = (label: string, i: number): boolean =>
    label === (captions[i].several ? 'several objects' : 'one object');
  expect(share(found.map(isRight))).toBeGreaterThanOrEqual(0.98);
  // Only one in six captions has one object.
  expect(share(found.map(isRight).filter((_, i) => !captions[i].several))).toBeGreaterThanOrEqual(0.97);
});

test('Another caption of the same scene is nearer than a caption of a very different scene', async () => {
  const texts = await embeddings(captions.map(({ text }) => text));
  const near = await embeddings(captions.map((caption) => caption.near));
  const far = await embeddings(captions.map((caption) => caption.far));
  expect(
    share(texts.map((vector, i) => cosine(vector, near[i]) > cosine(vector, far[i]))),
  ).toBeGreaterThanOrEqual(0.98);
  const isNearest = (vector: Float32Array, i: number): boolean =>
    near.every((other, j) => j === i || cosine(vector, other) < cosine(vector, near[i]));
  expect(share(texts.map(isNearest))).toBeGreaterThanOrEqual(0.86);
});
