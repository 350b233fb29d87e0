/** The texts of one sample in the engine: which are not tokenized, which wait for a run, and the answers so far. */
import { type Clock, LehrError, toLehrError } from '@lehr/shared';
import type { AnsweredMessage, TextSample } from '../../protocol/messages.ts';
import { answer, joinAnswers, type TextAnswer } from '../answers.ts';
import { SequenceTokens } from '../fill-mask.ts';
import type { TextModel } from '../folder/text-folder.ts';
import { checkValues, type RowOutput, type RowOutputs } from '../text-graph.ts';
import type { EncodedText } from '../tokenizer.ts';
import { firstOfLength, type RunSample } from './choose-run.ts';

/** A tokenized text that waits for a run. */
export interface WaitingText {
  readonly sample: SampleTexts;
  readonly index: number;
  readonly encoded: EncodedText;
  readonly length: number;
}

export class SampleTexts implements RunSample<WaitingText> {
  readonly request: TextSample;
  readonly arrivedAt: number;
  readonly maxBatchMates: number;
  readonly waiting: WaitingText[] = [];
  /** Texts that are answered. */
  answered = 0;
  isDropped = false;
  tokensRun = 0;
  /** Of the runs of its texts, the share of these texts. */
  deviceMs = 0;
  #tokenized = 0;
  #tokenizeMs = 0;
  #truncated: number[] = [];
  #startedAt = 0;
  #endedAt = 0;
  #runSizes = 0;
  readonly #sequences = new SequenceTokens();
  readonly #answers: TextAnswer[] = [];
  readonly #model: TextModel;

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  constructor(request: TextSample, model: TextModel, now: number) {
    checkAbilities(request, model);
    this.request = request;
    this.arrivedAt = now;
    this.maxBatchMates = request.maxBatchMates;
    this.#model = model;
  }

  get isTokenized(): boolean {
    return this.#tokenized === this.request.texts.length;
  }

  get hasEnded(): boolean {
    return this.answered === this.request.texts.length;
  }

  /** The output of the graph that answers it. */
  get output(): string {
    return this.#model.reading.outputs[this.request.work.type] ?? '';
  }

  /** Tokenizes its next text. Throws LehrError `invalid-input` that names the text. */
  tokenizeNext(now: () => number): void {
    const index = this.#tokenized;
    const startedAt = now();
    const { texts, work, mayTruncate } = this.request;
    try {
      const encoded = this.#model.encode(texts[index], work.type, { mayTruncate });
      if (work.type === 'fill-mask') this.#sequences.add(encoded, this.#model.tokenizer, work.topK);
      if (encoded.ids.length === 0) throw new LehrError('invalid-input', 'has no tokens.');
      const text = { sample: this, index, encoded, length: encoded.ids.length };
      this.waiting.splice(firstOfLength(this.waiting, text.length), 0, text);
      if (encoded.wasTruncated) this.#truncated.push(index);
    } catch (error) {
      throw ofText(index, toLehrError(error, 'engine-failed'));
    }
    this.#tokenized += 1;
    this.#tokenizeMs += now() - startedAt;
  }

  /** A run begins that has this one of its texts. */
  take(text: WaitingText, now: number): void {
    this.#startedAt ||= now;
    const from = firstOfLength(this.waiting, text.length);
    this.waiting.splice(this.waiting.indexOf(text, from), 1);
    this.tokensRun += text.length;
  }

  /**
   * Reads the answer to one of its texts from the outputs; yields between parts of it. Throws LehrError `numeric-error`, and what
   * reading them throws.
   */
  *finish(
    { index, encoded }: WaitingText,
    row: RowOutputs,
    runSize: number,
    now: () => number,
  ): Generator<undefined, void> {
    const { tokenizer, reading } = this.#model;
    const { texts, work } = this.request;
    const text = texts[index];
    yield* this.#check(encoded, row[this.output]);
    this.#answers[index] = yield* answer(
      work,
      { encoded, text: typeof text === 'string' ? text : undefined },
      row[this.output],
      tokenizer,
      reading,
    );
    this.answered += 1;
    this.#runSizes += runSize;
    this.#endedAt = now();
  }

  result(): AnsweredMessage {
    const since = (time: number): number => Math.max(0, time - this.arrivedAt);
    return {
      type: 'answered',
      sample: this.request.id,
      answers: joinAnswers(this.request.work.type, this.#answers),
      tokens: this.tokensRun,
      truncated: this.#truncated,
      batchSize: this.#runSizes / Math.max(1, this.answered),
      timings: {
        tokenizeMs: this.#tokenizeMs,
        startedAt: since(this.#startedAt),
        endedAt: since(this.#endedAt),
        deviceMs: this.deviceMs,
      },
    };
  }

  /** Throws LehrError `numeric-error` when a value that the answer is made of is not finite. Those of padding may be anything. */
  *#check({ ids }: EncodedText, output: RowOutput): Generator<undefined, void> {
    const { tokenizer, reading } = this.#model;
    const { work } = this.request;
    const by = work.type === 'text-classification' ? (work.function ?? reading.function) : 'softmax';
    const masksLogits = work.type !== 'text-embedding' && by === 'softmax';
    for (let position = 0; position < Math.min(ids.length, output.positions); position += 1) {
      // The scores of a vocabulary are many, and only those of the masks are read.
      if (work.type === 'fill-mask' && ids[position] !== tokenizer.mask?.id) continue;
      checkValues(output, position, masksLogits);
      if (work.type === 'fill-mask') yield;
    }
  }
}

function checkAbilities({ work, model: ref }: TextSample, model: TextModel): void {
  if (!model.types.includes(work.type)) {
    throw new LehrError(
      'invalid-input',
      `${ref} cannot run jobs of type ${work.type}; its graph answers: ${model.types.join(', ')}.`,
    );
  }
  const { dimensions } = model;
  if (work.type !== 'text-embedding' || work.dimensions === null || dimensions === undefined) return;
  if (work.dimensions <= dimensions) return;
  const detail = `must be at most ${dimensions}, the numbers of an embedding of ${ref}`;
  throw new LehrError('invalid-input', `input.dimensions: ${detail}.`, {
    problems: [{ pointer: '/input/dimensions', detail }],
  });
}

const ofText = (index: number, error: LehrError): LehrError =>
  new LehrError(error.code, `input.texts[${index}] ${error.message}`, {
    cause: error,
    problems: [{ pointer: `/input/texts/${index}`, detail: error.message }],
  });

/** As long as tokenizing may keep a run waiting. */
const SLICE_MS = 4;
/** Each holds the outputs of its run in memory, so with so many of them no further run is made. */
const MOST = 4;

interface Answering {
  readonly sample: SampleTexts;
  /** Returns when the answer is complete; throws what reading it throws. */
  readonly steps: Iterator<undefined, void>;
}

/** Answers that are being read from the outputs of runs, a few milliseconds at a time, in turns. */
export class Unfinished {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #fail: (sample: SampleTexts, error: LehrError) => void;
  #answers: Answering[] = [];

  constructor(clock: Pick<Clock, 'monotonic'>, fail: (sample: SampleTexts, error: LehrError) => void) {
    this.#clock = clock;
    this.#fail = fail;
  }

  get isFull(): boolean {
    return this.#answers.length >= MOST;
  }

  add(sample: SampleTexts, steps: Iterator<undefined, void>): void {
    this.#answers.push({ sample, steps });
  }

  /** Takes steps of the answers in turns, so that a long one does not hold up the others. */
  continue(): void {
    const startedAt = this.#clock.monotonic();
    while (this.#answers.length > 0) {
      // A pass over all of them is short: they are the texts of a run or two.
      this.#answers = this.#answers.filter((each) => !each.sample.isDropped && this.#takeStep(each));
      if (this.#clock.monotonic() - startedAt >= SLICE_MS) return;
    }
  }

  /** Whether there are more steps. */
  #takeStep({ sample, steps }: Answering): boolean {
    try {
      return !steps.next().done;
    } catch (error) {
      this.#fail(sample, toLehrError(error, 'engine-failed'));
      return false;
    }
  }
}
