/** An attempt of a text job: its texts go to the engine as one sample, and come back answered. */
import { randomUUID } from 'node:crypto';
import {
  type Clock,
  estimateTokens,
  type FillMaskInput,
  type JobMetrics,
  LehrError,
  MAX_INLINE_TEXT_BYTES,
  type Progress,
  type StoredTextOutput,
  type StoredTextResult,
  type TextClassificationInput,
  type TextEmbeddingInput,
  type TextItem,
  TextItemsSchema,
  type TextJobType,
  type TextsSource,
  type TextTimings,
  type TokenClassificationInput,
  toObjectKey,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord, Move } from '@lehr/shared/records';
import { inPart } from '@lehr/shared/tracing';
import type {
  AnsweredMessage,
  SampleId,
  TextAbilities,
  TextAnswers,
  TextSample,
} from '../../engine/protocol/messages.ts';
import type { OutputStore } from '../delivery/output-store.ts';
import { JobRun, type SampleResult, type SampleRun } from './job-run.ts';
import { metricsOf, partsOf, roundedMs } from './timeline.ts';

/** What so many rows (tokens, tiles) cost in a group, estimated engine ms: the API has priced the job by its characters, or by a size that it guessed. */
export type CostOfRows = (queue: string, rows: number) => number;

interface TextParts {
  readonly store: Pick<OutputStore, 'put'>;
  readonly clock: Clock;
  readonly fetchTexts: FetchTexts;
  readonly costOf: CostOfRows;
  readonly abilities: TextAbilities;
}

/** What a job is assumed to take in its lane before its texts are there: a sentence. */
export const USUAL_TOKENS = 32;

interface TextsRun extends SampleRun {
  readonly request: TextSample;
}

export class TextRun extends JobRun {
  readonly #input: TextInput;
  readonly #parts: TextParts;
  #sample: TextsRun | undefined;
  #result: AnsweredMessage | undefined;
  #output: StoredTextOutput | undefined;
  #texts = 0;
  #marks = { fetched: 0, stored: 0 };

  constructor(claim: Claim, record: JobRecord, claimedAt: number, input: TextInput, parts: TextParts) {
    super(claim, record, claimedAt);
    this.#input = input;
    this.#parts = parts;
  }

  get samples(): readonly SampleRun[] {
    return this.#sample ? [this.#sample] : [];
  }

  get isDone(): boolean {
    return this.#output !== undefined;
  }

  get firstRows(): number {
    const { texts } = this.#input;
    return 'kind' in texts ? texts.count * USUAL_TOKENS : this.#rowsOf(texts);
  }

  get progress(): Progress {
    const steps = Math.max(1, this.#texts);
    const step = this.#result ? steps : Math.min(steps, this.#sample?.step ?? 0);
    return { fraction: Math.round((step / steps) * 1000) / 1000, stage: 'text', step, steps };
  }

  /** From the claim to the stored result. */
  get runMs(): number {
    return Math.max(0, this.#marks.stored - this.claimedAt);
  }

  /** Of its texts in the engine, once the job is done. */
  get engineMs(): number {
    return this.#timings().run;
  }

  async begin(): Promise<readonly SampleRun[]> {
    const { clock, fetchTexts } = this.#parts;
    const texts = await fetchTexts(this.#input.texts, this.signal);
    this.#marks.fetched = clock.monotonic();
    this.#texts = texts.length;
    this.#sample = {
      request: {
        id: `${this.record.id}.${randomUUID()}` as SampleId,
        task: 'text',
        model: this.record.model,
        lane: this.record.queue,
        priority: this.record.priority,
        maxBatchMates: Number.MAX_SAFE_INTEGER,
        texts,
        mayTruncate: this.#input.truncate,
        work: workOf(this.#input),
      },
      rows: this.#rowsOf(texts),
      submittedAt: 0,
      step: 0,
      inEngine: false,
    };
    return [this.#sample];
  }

  async addResult(_sample: SampleRun, result: SampleResult): Promise<readonly SampleRun[]> {
    if (result.type !== 'answered') throw new Error(`Texts ended as ${result.type}. This is a bug in Lehr.`);
    const { clock, costOf } = this.#parts;
    this.#result = result;
    this.realCostMs = costOf(this.record.queue, result.tokens);
    this.#output = await this.#store(result);
    this.#marks.stored = clock.monotonic();
    return [];
  }

  /** A short result is kept in the record, a long one as an object; that of a direct job goes to its request whole. */
  async #store({ answers, tokens, truncated }: AnsweredMessage): Promise<StoredTextOutput> {
    const counts = { tokens, ...(truncated.length > 0 && { truncated: [...truncated] }) };
    const result = resultOf(answers);
    const json = JSON.stringify(result);
    if (this.isDirect) return { ...counts, result };
    if (json.length <= MAX_INLINE_TEXT_BYTES && Buffer.byteLength(json) <= MAX_INLINE_TEXT_BYTES) {
      return { ...counts, result };
    }
    const key = this.outputKey('result.json');
    await inPart(this.span, 'upload', () =>
      this.#parts.store.put(this, key, Buffer.from(json), 'application/json'),
    );
    return { ...counts, key };
  }

  successFields(worker: string): Move['fields'] {
    const timings = this.#timings();
    const metrics: JobMetrics = {
      ...metricsOf(timings, this.#result?.batchSize ?? 0, worker),
      device_ms: roundedMs(this.#result?.timings.deviceMs ?? 0),
    };
    return { output: { text: this.#output ?? { tokens: 0 } }, metrics };
  }

  /** Consecutive parts on one clock, in whole ms. A job of many texts is tokenized while it runs; that part counts as its run. */
  #timings(): TextTimings {
    const submittedAt = this.#sample?.submittedAt ?? this.claimedAt;
    const { tokenizeMs = 0, startedAt = 0, endedAt = 0 } = this.#result?.timings ?? {};
    const [tokenize, wait, run, store] = partsOf(this.claimedAt, [
      submittedAt + Math.min(tokenizeMs, startedAt),
      submittedAt + startedAt,
      submittedAt + endedAt,
      this.#marks.stored,
    ]);
    return { queued: Math.max(0, Math.round(this.queuedMs)), tokenize, wait, run, store };
  }

  /** A row of a text lane is a token. */
  #rowsOf(texts: readonly TextItem[]): number {
    return Math.min(estimateTokens(texts), texts.length * this.#parts.abilities.maxTokens);
  }
}

/** Rejects with a LehrError: `invalid-input` or `storage-failed`. */
export type FetchTexts = (texts: TextsSource, signal: AbortSignal) => Promise<readonly TextItem[]>;

/** The texts of a job: in its record, or, if they are many, in the object store. */
export const textSource =
  (store: ObjectStore): FetchTexts =>
  async (texts, signal) => {
    if (!('kind' in texts)) return texts;
    const object = await store.get(toObjectKey(texts.key));
    if (!object) throw new LehrError('invalid-input', 'The texts of the job have been deleted.');
    const chunks: Uint8Array[] = [];
    for await (const chunk of object.body) {
      signal.throwIfAborted();
      chunks.push(chunk);
    }
    return TextItemsSchema.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  };

export type TextInput =
  | ({ readonly type: 'text-embedding' } & TextEmbeddingInput)
  | ({ readonly type: 'text-classification' } & TextClassificationInput)
  | ({ readonly type: 'fill-mask' } & FillMaskInput)
  | ({ readonly type: 'token-classification' } & TokenClassificationInput);

/** The input of a text job in the words of the engine, and the engine's answers in the words of the record. */
function workOf(input: TextInput): TextSample['work'] {
  switch (input.type) {
    case 'text-embedding':
      return { type: input.type, normalize: input.normalize, dimensions: input.dimensions };
    case 'text-classification':
      return { type: input.type, topK: input.top_k, function: input.function };
    case 'fill-mask':
      return { type: input.type, topK: input.top_k };
    case 'token-classification':
      return { type: input.type, aggregation: input.aggregation, ignoreLabels: input.ignore_labels };
  }
}

function resultOf(answers: TextAnswers): StoredTextResult {
  switch (answers.type) {
    case 'text-embedding': {
      const { values, dimensions } = answers;
      // Every machine that ONNX Runtime runs on stores numbers little-endian.
      const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
      return { embeddings: bytes.toString('base64'), dimensions };
    }
    case 'text-classification':
      return { labels: answers.labels.map((labels) => [...labels]) };
    case 'fill-mask':
      return { fills: answers.fills.map((masks) => masks.map((fills) => [...fills])) };
    case 'token-classification':
      return { entities: answers.entities.map((entities) => [...entities]) };
  }
}

/** Throws LehrError `invalid-input` for a type of job that the outputs of the model do not answer. */
export function checkType(type: TextJobType, types: readonly TextJobType[], ref: string): void {
  if (types.includes(type)) return;
  throw new LehrError(
    'invalid-input',
    `${ref} cannot run jobs of type ${type}; its graph answers: ${types.join(', ')}.`,
  );
}
