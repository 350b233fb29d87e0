/** Real exports of small text models, against what transformers computes with them (lab/real/text). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FromEngine, TextAnswers, TextWork } from '../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { InferenceRuntime, LoadOptions } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { answer, type TextAnswer } from '../../apps/worker/src/engine/text/answers.ts';
import { openTextModel, type TextModel } from '../../apps/worker/src/engine/text/folder/text-folder.ts';
import { TextLane } from '../../apps/worker/src/engine/text/lane/text-lane.ts';
import { TokenBudget } from '../../apps/worker/src/engine/text/lane/token-budget.ts';
import { POOLINGS, type Pooling, pool } from '../../apps/worker/src/engine/text/pooling.ts';
import { type Clock, systemClock, type TextItem } from '../../packages/shared/src/index.ts';
import { openTextEngine, type TextEngine, textSample } from '../support/text-engine.ts';
import { expectedOf, TEXT_FIXTURES, unpackTextFixture } from '../support/text-fixtures.ts';

/** The graphs compute in single precision, in another order than torch does. */
const TOLERANCE = 1e-5;
/** Of a text in a run with others, against the same text alone. */
const BATCHED_TOLERANCE = 1e-6;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-text-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (variant?: string): Promise<TextModel> =>
  openTextModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1, ...(variant && { variant }) });

async function withModel<T>(use: (model: TextModel) => Promise<T>, variant?: string): Promise<T> {
  const model = await open(variant);
  try {
    return await use(model);
  } finally {
    await model.close();
  }
}

async function withEngine<T>(
  use: (engine: TextEngine) => Promise<T>,
  options: { readonly clock?: Clock } = {},
): Promise<T> {
  const engine = await openTextEngine(folder, options);
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

/** What a generator returns. */
function whole<Value>(steps: Iterator<undefined, Value>): Value {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

async function answerAlone(model: TextModel, item: TextItem, work: TextWork): Promise<TextAnswer> {
  const encoded = model.tokenizer.encode(item, { mayTruncate: false });
  const output = model.reading.outputs[work.type] ?? '';
  const [row] = await model.graph.run([encoded], [output]);
  const text = typeof item === 'string' ? item : undefined;
  return whole(answer(work, { encoded, text }, row[output], model.tokenizer, model.reading));
}

const distance = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i])));

test.each(TEXT_FIXTURES)('The tokenizer of %s gives the ids of transformers', async (name) => {
  unpackTextFixture(name, folder);
  await withModel(async ({ tokenizer }) => {
    for (const { text, pair, truncated, ids, type_ids: typeIds } of expectedOf(name).encoded) {
      const item = pair === undefined ? text : { text, pair };
      const encoded = tokenizer.encode(item, { mayTruncate: truncated });
      expect({ item, ids: encoded.ids }).toEqual({ item, ids });
      if (typeIds) expect(encoded.typeIds).toEqual(typeIds);
      expect(encoded.wasTruncated).toBe(truncated);
    }
  });
});

test('Between its runs a text model leaves the cores to the other processes of the machine', async () => {
  unpackTextFixture('bert-sentences', folder);
  const loaded: LoadOptions[] = [];
  const runtime: InferenceRuntime = {
    load: (graph, options) => {
      loaded.push(options);
      return onnxRuntime.load(graph, options);
    },
  };
  const model = await openTextModel(folder, runtime, { providers: ['cpu'], threads: 2 });
  await model.close();
  expect(loaded).toMatchObject([{ spin: false, threads: 2 }]);
});

interface FillCase {
  readonly text: string;
  readonly top_k: number;
  readonly fills: readonly (readonly {
    readonly score: number;
    readonly token: number;
    readonly token_str: string;
    readonly sequence: string;
  }[])[];
}

test.each(['bert-fill-mask', 'roberta-fill-mask'])('%s fills masks as transformers does', async (name) => {
  unpackTextFixture(name, folder);
  await withModel(async (model) => {
    for (const { text, top_k: topK, fills } of expectedOf<FillCase>(name).cases) {
      const answered = await answerAlone(model, text, { type: 'fill-mask', topK });
      if (answered.type !== 'fill-mask') throw new Error(answered.type);
      const withoutScores = (masks: FillCase['fills']) =>
        masks.map((mask) => mask.map(({ score: _, ...rest }) => rest));
      expect(withoutScores(answered.fills)).toEqual(withoutScores(fills));
      const scores = (masks: FillCase['fills']) => masks.flat().map(({ score }) => score);
      expect(distance(scores(answered.fills), scores(fills))).toBeLessThan(TOLERANCE);
    }
  });
});

interface ClassCase {
  readonly text: string;
  readonly pair?: string;
  readonly function: 'softmax' | 'sigmoid' | 'none' | null;
  readonly labels: readonly { readonly label: string; readonly score: number }[];
}

test.each(['bert-classes', 'distilbert-many-labels'])(
  '%s classifies texts and pairs as transformers does',
  async (name) => {
    unpackTextFixture(name, folder, 'onnx');
    await withModel(async (model) => {
      for (const { text, pair, labels, function: by } of expectedOf<ClassCase>(name).cases) {
        const item = pair === undefined ? text : { text, pair };
        const answered = await answerAlone(model, item, {
          type: 'text-classification',
          topK: null,
          function: by,
        });
        if (answered.type !== 'text-classification') throw new Error(answered.type);
        expect(answered.labels.map(({ label }) => label)).toEqual(labels.map(({ label }) => label));
        const scores = (list: ClassCase['labels']) => list.map(({ score }) => score);
        // Logits are several times larger than scores.
        expect(distance(scores(answered.labels), scores(labels))).toBeLessThan(
          TOLERANCE * (by === 'none' ? 5 : 1),
        );
      }
    });
  },
);

interface EntityCase {
  readonly text: string;
  readonly aggregation: 'none' | 'simple' | 'first' | 'average' | 'max';
  readonly entities: readonly {
    readonly label: string;
    readonly score: number;
    readonly word: string;
    readonly start: number;
    readonly end: number;
  }[];
}

test.each(['bert-entities', 'xlm-roberta-entities'])(
  '%s finds the entities of transformers',
  async (name) => {
    unpackTextFixture(name, folder);
    await withModel(async (model) => {
      for (const { text, aggregation, entities } of expectedOf<EntityCase>(name).cases) {
        const work = { type: 'token-classification', aggregation, ignoreLabels: ['O'] } as const;
        const answered = await answerAlone(model, text, work);
        if (answered.type !== 'token-classification') throw new Error(answered.type);
        const withoutScores = (list: EntityCase['entities']) => list.map(({ score: _, ...rest }) => rest);
        expect({ aggregation, found: withoutScores(answered.entities) }).toEqual({
          aggregation,
          found: withoutScores(entities),
        });
        const scores = (list: EntityCase['entities']) => list.map(({ score }) => score);
        if (entities.length > 0)
          expect(distance(scores(answered.entities), scores(entities))).toBeLessThan(TOLERANCE);
      }
    });
  },
);

type SentenceCase = Readonly<Record<Pooling, readonly number[]>> & {
  readonly text: string;
  readonly normalized: readonly number[];
};

test('Every pooling gives the vector that torch gives, and the folder of sentence-transformers chooses one', async () => {
  unpackTextFixture('bert-sentences', folder);
  await withModel(async (model) => {
    expect(model.reading).toMatchObject({ poolings: ['mean'], normalizes: true });
    // The file of sentence-transformers has the smaller limit.
    expect(model.tokenizer.maxTokens).toBe(48);
    for (const expected of expectedOf<SentenceCase>('bert-sentences').cases) {
      const encoded = model.tokenizer.encode(expected.text, { mayTruncate: false });
      const [{ last_hidden_state: row }] = await model.graph.run([encoded], ['last_hidden_state']);
      for (const pooling of POOLINGS) {
        const vector = pool(row, encoded.ids.length, [pooling]);
        expect(distance(vector, expected[pooling])).toBeLessThan(TOLERANCE);
      }
      const work = { type: 'text-embedding', normalize: null, dimensions: null } as const;
      const answered = await answerAlone(model, expected.text, work);
      if (answered.type !== 'text-embedding') throw new Error(answered.type);
      expect(distance(answered.embedding, expected.normalized)).toBeLessThan(TOLERANCE);
    }
  });
});

test.each(['with', 'without'])(
  'A folder %s modules.json has its texts stripped and lower-cased as sentence-transformers does, or left alone',
  async (having) => {
    unpackTextFixture('roberta-sentences', folder);
    if (having === 'without') rmSync(join(folder, 'modules.json'));
    const { sentences = [] } = expectedOf('roberta-sentences');
    const work = { type: 'text-embedding', normalize: true, dimensions: null } as const;
    await withModel(async (model) => {
      const answered = await withEngine((engine) =>
        engine.answer(sentences.map(({ text }) => ({ texts: [text], work }))),
      );
      for (const [i, { text, ids, vector }] of sentences.entries()) {
        const found = distance(embeddingOf(answered[i].answers, 0), vector);
        if (having === 'with') {
          const encoded = model.encode(text, work.type, { mayTruncate: false });
          expect({ text, ids: encoded.ids }).toEqual({ text, ids });
          expect(found).toBeLessThan(TOLERANCE);
        } else if (text !== 'a red circle') {
          expect(found).toBeGreaterThan(TOLERANCE);
        }
      }
    });
  },
);

const embeddingOf = (answers: TextAnswers, index: number): Float32Array => {
  if (answers.type !== 'text-embedding') throw new Error(answers.type);
  return answers.values.subarray(index * answers.dimensions, (index + 1) * answers.dimensions);
};

test('A text has the same embedding alone and in a run with texts of other jobs', async () => {
  unpackTextFixture('bert-sentences', folder);
  const texts = expectedOf<SentenceCase>('bert-sentences').cases.map(({ text }) => text);
  const work = { type: 'text-embedding', normalize: null, dimensions: null } as const;
  await withEngine(async (engine) => {
    const together = await engine.answer(texts.map((text) => ({ texts: [text, `${text} and more`], work })));
    expect(Math.max(...together.map(({ batchSize }) => batchSize))).toBeGreaterThan(1);
    for (const [i, text] of texts.entries()) {
      const [alone] = await engine.answer([{ texts: [text], work }]);
      expect(alone.batchSize).toBe(1);
      expect(distance(embeddingOf(alone.answers, 0), embeddingOf(together[i].answers, 0))).toBeLessThan(
        BATCHED_TOLERANCE,
      );
    }
  });
});

test('A shorter embedding is the beginning of the whole one, and of length 1 again', async () => {
  unpackTextFixture('bert-sentences', folder);
  await withEngine(async (engine) => {
    const ask = (dimensions: number | null, normalize: boolean | null) =>
      engine.answer([{ texts: ['a red circle'], work: { type: 'text-embedding', dimensions, normalize } }]);
    const whole = embeddingOf((await ask(null, false))[0].answers, 0);
    const cut = embeddingOf((await ask(8, null))[0].answers, 0);
    expect(cut).toHaveLength(8);
    const norm = Math.hypot(...whole.subarray(0, 8));
    expect(
      distance(
        cut,
        whole.subarray(0, 8).map((value) => value / norm),
      ),
    ).toBeLessThan(BATCHED_TOLERANCE);
    await expect(ask(33, null)).rejects.toThrow('input.dimensions: must be at most 32');
  });
});

test('A text that is too long fails its job alone, by number and length, or is cut on request', async () => {
  unpackTextFixture('bert-sentences', folder);
  const work = { type: 'text-embedding', normalize: null, dimensions: null } as const;
  const long = 'circle '.repeat(60);
  await withEngine(async (engine) => {
    const fine = engine.answer([{ texts: ['a red circle'], work }]);
    await expect(engine.answer([{ texts: ['short', long], work }])).rejects.toThrow(
      /^input\.texts\[1\] has \d+ tokens, and the model takes at most 48\. Shorten it, or set truncate\.$/,
    );
    expect((await fine)[0].tokens).toBeGreaterThan(2);
    const [cut] = await engine.answer([{ texts: ['short', long], work, mayTruncate: true }]);
    expect(cut.truncated).toEqual([1]);
    await expect(engine.answer([{ texts: [[5, 99_999]], work }])).rejects.toThrow(
      /input\.texts\[0\] has the token 99999, and the ids of the vocabulary are below \d+\./,
    );
  });
});

test("A caller's ids may lie after a gap in the tokenizer's ids, up to the largest one that tokenizer and model have", async () => {
  unpackTextFixture('bert-sentences', folder);
  const tokenizerPath = join(folder, 'tokenizer.json');
  const json = JSON.parse(readFileSync(tokenizerPath, 'utf8'));
  const last = Math.max(...Object.values<number>(json.model.vocab)) + 100;
  json.added_tokens.push({ ...json.added_tokens[0], id: last, content: '[LAST]' });
  writeFileSync(tokenizerPath, JSON.stringify(json));
  const configPath = join(folder, 'config.json');
  const config = JSON.parse(readFileSync(configPath, 'utf8'));
  const cases: readonly [size: number | undefined, end: number][] = [
    [undefined, last + 1],
    [last + 9, last + 1],
    [last, last],
  ];
  for (const [size, end] of cases) {
    writeFileSync(configPath, JSON.stringify({ ...config, vocab_size: size }));
    await withModel(async ({ tokenizer }) => {
      expect(tokenizer.encode([end - 1], { mayTruncate: false }).ids).toContain(end - 1);
      expect(() => tokenizer.encode([end], { mayTruncate: false })).toThrow(
        `has the token ${end}, and the ids of the vocabulary are below ${end}.`,
      );
    });
  }
});

test('An id that the tokenizer knows and the model does not is refused by its text', async () => {
  unpackTextFixture('bert-sentences', folder);
  const path = join(folder, 'config.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), vocab_size: 50 }));
  const { tokenizer, close } = await open();
  try {
    const known = tokenizer.encode([49], { mayTruncate: false });
    expect(known.ids).toContain(49);
    expect(() => tokenizer.encode([50], { mayTruncate: false })).toThrow(
      'has the token 50, and the ids of the vocabulary are below 50.',
    );
    expect(() => tokenizer.encode('a red circle and a blue square', { mayTruncate: false })).toThrow(
      /^has the token \d+, and the ids of the vocabulary are below 50\.$/,
    );
  } finally {
    await close();
  }
});

test('A text without a mask, and a type of job that the graph cannot answer, are refused by name', async () => {
  unpackTextFixture('bert-fill-mask', folder);
  await withEngine(async (engine) => {
    const fill = { type: 'fill-mask', topK: 3 } as const;
    await expect(engine.answer([{ texts: ['[MASK]', 'no mask'], work: fill }])).rejects.toThrow(
      'input.texts[1] has no [MASK] that could be filled.',
    );
    const embed = { type: 'text-embedding', normalize: null, dimensions: null } as const;
    await expect(engine.answer([{ texts: ['x'], work: embed }])).rejects.toThrow(
      'model@1 cannot run jobs of type text-embedding; its graph answers: fill-mask.',
    );
  });
});

test('Fillings of more than a million tokens in all are refused with their numbers before the graph runs', async () => {
  unpackTextFixture('bert-fill-mask', folder);
  // Time stands still: a run would start with the texts that were read within some milliseconds.
  const clock = { ...systemClock, monotonic: () => 0 };
  await withEngine(
    async (engine) => {
      const work = { type: 'fill-mask', topK: 1000 } as const;
      const masks = '[MASK] '.repeat(30);
      await expect(engine.answer([{ texts: ['a [MASK]', masks, masks], work }])).rejects.toThrow(
        'input.texts[2] brings the sequences of this job to 1924000 tokens, and a job may have 1000000: this text has masks (30) x ' +
          'top_k (1000) x tokens (32). Lower top_k, or send fewer masks or texts.',
      );
      expect(engine.messages.some(({ type }) => type === 'running')).toBe(false);
    },
    { clock },
  );
});

test('A job with very many fillings is answered over many turns, and another job in its lane is answered meanwhile', async () => {
  unpackTextFixture('bert-fill-mask', folder);
  await withModel(async (model) => {
    let now = 0;
    // A millisecond passes whenever the time is read.
    const clock = { ...systemClock, monotonic: () => ++now };
    const ended: string[] = [];
    const post = (message: FromEngine): void => {
      if (message.type === 'answered') ended.push(message.sample);
    };
    const budget = new TokenBudget(8192);
    const lane = new TextLane({ name: 'text', model, budget, maxTexts: 64, clock, post });
    const many = textSample({ texts: ['[MASK] '.repeat(40)], work: { type: 'fill-mask', topK: 200 } });
    const few = textSample({ texts: ['a red [MASK]'], work: { type: 'fill-mask', topK: 1 } });
    lane.submit(many);
    let turns = 0;
    for (; lane.hasWork; turns += 1) {
      await lane.takeTurn();
      if (turns === 0) lane.submit(few);
    }
    expect(ended).toEqual([few.id, many.id]);
    // Of 8,000 fillings.
    expect(turns).toBeGreaterThan(100);
  });
});

test('An fp16 export gives the scores of fp32, and an int8 export those of ONNX Runtime in Python', async () => {
  unpackTextFixture('bert-classes', folder, 'onnx');
  const { cases, quantized = [] } = expectedOf<ClassCase>('bert-classes');
  const classify = async (model: TextModel, text: string, by: ClassCase['function']) => {
    const answered = await answerAlone(model, text, {
      type: 'text-classification',
      topK: null,
      function: by,
    });
    if (answered.type !== 'text-classification') throw new Error(answered.type);
    return new Map(answered.labels.map(({ label, score }) => [label, score]));
  };
  await withModel(async (model) => {
    for (const { text, labels } of cases.filter(
      (each) => each.function === null && each.pair === undefined,
    )) {
      const scores = await classify(model, text, null);
      for (const { label, score } of labels) expect(scores.get(label)).toBeCloseTo(score, 2);
    }
  }, '_fp16');
  await withModel(async (model) => {
    expect(quantized.length).toBeGreaterThan(0);
    for (const { text, logits } of quantized) {
      const scores = await classify(model, text, 'none');
      for (const [i, label] of model.reading.labels.entries())
        expect(scores.get(label)).toBeCloseTo(logits[i], 1);
    }
  }, '_quantized');
});
