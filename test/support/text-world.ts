/**
 * The API with text models, on a port, and a worker without an engine: it answers text jobs with results that tests can foresee. Each
 * word counts as one token, and a text begins and ends with one more.
 */
import { onTestFinished } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import type { ApiParts } from '../../apps/api/src/parts.ts';
import {
  isTextJobType,
  MAX_INLINE_TEXT_BYTES,
  parseRegistry,
  type StoredTextOutput,
  type StoredTextResult,
  TEXT_INPUTS,
  type TextItem,
  TextItemsSchema,
  toObjectKey,
} from '../../packages/shared/src/index.ts';
import type { Claim } from '../../packages/shared/src/queue/index.ts';
import { toStoredError } from '../../packages/shared/src/records/index.ts';
import { type ApiWorld, apiWorld, MODELS } from './api-world.ts';

const TEXT_MODELS = `${MODELS}
  - name: minilm
    task: text
    tasks: [text-embedding]
    versions: [{ version: "1", path: minilm }]
  - name: words
    task: text
    tasks: [fill-mask, text-classification, token-classification]
    limits: { max_texts: 100 }
    versions: [{ version: "1", path: words }]
  - name: ears
    task: whisper
    versions: [{ version: "1", path: ears }]
  - { name: larger, task: transform, result: picture, scale: 4, versions: [{ version: "1", path: larger }] }
  - { name: kinds, task: transform, result: class, versions: [{ version: "1", path: kinds }] }
`;

const MAX_TOKENS = 12;
export const DIMENSIONS = 4;

export interface TextWorld extends ApiWorld {
  /** Of the server. */
  readonly url: string;
}

/** `serves`: whether there is a worker. */
export async function textWorld(
  redisUrl: string,
  changes: Partial<ApiParts> = {},
  serves = true,
): Promise<TextWorld> {
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  const publicUrl = `http://127.0.0.1:${listener.port}`;
  const world = await apiWorld(redisUrl, { registry: parseRegistry(TEXT_MODELS), publicUrl, ...changes });
  listener.serve(world.app.fetch);
  if (serves) serveTexts(world);
  return { ...world, url: publicUrl };
}

/** Answers the next job of the group with this result, stored as an object. Of a world without a worker. */
export async function answerStored(
  { worker, parts }: TextWorld,
  group: string,
  result: StoredTextResult | string,
  tokens = 1,
): Promise<void> {
  const claim = await worker.next(group);
  const key = `out/default/${claim.jobId}/${claim.token}/result.json`;
  const bytes = Buffer.from(typeof result === 'string' ? result : JSON.stringify(result));
  await parts.store.put(toObjectKey(key), bytes, { contentType: 'application/json' });
  await worker.succeedWith(claim, { tokens, key });
}

/** Answers text jobs until the connections of the test are closed. */
function serveTexts(world: ApiWorld): void {
  const loop = async (): Promise<void> => {
    for (;;) await answer(world, await world.worker.next('text.minilm@1', 'text.words@1'));
  };
  loop().catch(() => {});
}

async function answer({ parts, worker }: ApiWorld, claim: Claim): Promise<void> {
  const record = await worker.records.read(claim.jobId);
  if (!record || !isTextJobType(record.type)) throw new Error(`job ${claim.jobId} is no text job`);
  const input = TEXT_INPUTS[record.type].parse(record.input);
  const texts = await textsOf(parts, input.texts);
  const lengths = texts.map(lengthOf);
  const long = lengths.findIndex((length) => length > MAX_TOKENS);
  if (long >= 0 && !input.truncate) {
    const detail = `has ${lengths[long]} tokens, and ${record.model} takes at most ${MAX_TOKENS}`;
    const problems = [{ pointer: `/input/texts/${long}`, detail }];
    await worker.fail(
      claim,
      toStoredError({ code: 'invalid-input', message: `input.texts[${long}] ${detail}.`, problems }),
    );
    return;
  }
  const tokens = lengths.reduce((sum, length) => sum + Math.min(length, MAX_TOKENS), 0);
  const truncated = lengths.flatMap((length, i) => (length > MAX_TOKENS ? [i] : []));
  const result = resultOf(record.type, input, texts);
  const counts = { tokens, ...(truncated.length > 0 && { truncated }) };
  await worker.succeedWith(claim, { ...counts, ...(await stored(parts, claim, result)) });
}

async function textsOf(
  { store }: ApiParts,
  texts: readonly TextItem[] | { readonly key: string },
): Promise<readonly TextItem[]> {
  if (!('key' in texts)) return texts;
  const object = await store.get(toObjectKey(texts.key));
  return TextItemsSchema.parse(await new Response(object?.body).json());
}

async function stored(
  { store }: ApiParts,
  claim: Claim,
  result: StoredTextResult,
): Promise<Pick<StoredTextOutput, 'result' | 'key'>> {
  const bytes = Buffer.from(JSON.stringify(result));
  if (bytes.length <= MAX_INLINE_TEXT_BYTES) return { result };
  const key = `out/default/${claim.jobId}/${claim.token}/result.json`;
  await store.put(toObjectKey(key), bytes, { contentType: 'application/json' });
  return { key };
}

function lengthOf(item: TextItem): number {
  if (typeof item === 'string') return item.split(' ').length + 2;
  return 'pair' in item ? `${item.text} ${item.pair}`.split(' ').length + 3 : item.length + 2;
}

/** The embedding of a text: its length in tokens and the numbers after it. */
export const embeddingOf = (item: TextItem): number[] =>
  Array.from({ length: DIMENSIONS }, (_, i) => Math.fround((lengthOf(item) + i) / 10));

function resultOf(
  type: keyof typeof TEXT_INPUTS,
  input: {
    readonly top_k?: number | null;
    readonly dimensions?: number | null;
    readonly aggregation?: string;
  },
  texts: readonly TextItem[],
): StoredTextResult {
  switch (type) {
    case 'text-embedding': {
      const dimensions = input.dimensions ?? DIMENSIONS;
      const numbers = Float32Array.from(texts.flatMap((text) => embeddingOf(text).slice(0, dimensions)));
      return { embeddings: Buffer.from(numbers.buffer).toString('base64'), dimensions };
    }
    case 'text-classification':
      return {
        labels: texts.map((text) =>
          [
            { label: typeof text === 'string' ? 'one' : 'pair', score: 0.75 },
            { label: 'several', score: 0.25 },
          ].slice(0, input.top_k ?? 2),
        ),
      };
    case 'fill-mask':
      return { fills: texts.map((text) => fillsOf(String(text), input.top_k ?? 0)) };
    case 'token-classification':
      return {
        entities: texts.map(() => [
          {
            label: input.aggregation === 'none' ? 'B-PER' : 'PER',
            score: 0.5,
            word: 'Ada',
            start: 0,
            end: 3,
          },
        ]),
      };
  }
}

/** The words for every mask of a text. */
function fillsOf(text: string, topK: number) {
  const words = ['circle', 'square', 'cross', 'ring', 'star', 'line'].slice(0, topK);
  return [...text.matchAll(/\[MASK\]/g)].map(() =>
    words.map((word, i) => ({
      score: 1 / (i + 2),
      token: 100 + i,
      token_str: word,
      sequence: text.replace('[MASK]', word),
    })),
  );
}
