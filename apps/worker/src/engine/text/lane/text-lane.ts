/**
 * The runs of one text model. Each turn tokenizes for a few milliseconds, then runs the graph once on texts of similar length, of any
 * jobs that wait at that moment (choose-run.ts). No run waits for texts to come: whatever waits when the graph is free goes.
 *
 *   arrived -> tokenized -> in a run -> answered     the states of a text
 *
 * Reading the answers from the outputs of a run may take long, so a turn gives it a few milliseconds, and the next turns continue.
 */
import { type Clock, type LehrError, toLehrError, toPlainError } from '@lehr/shared';
import { runInHalves } from '../../lanes/run-in-halves.ts';
import { RunProgress } from '../../lanes/run-progress.ts';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { FromEngine, SampleId, TextSample } from '../../protocol/messages.ts';
import type { TextModel } from '../folder/text-folder.ts';
import { chooseRun } from './choose-run.ts';
import { SampleTexts, Unfinished, type WaitingText } from './sample-texts.ts';
import { claimTokens, type TokenBudget } from './token-budget.ts';

interface TextLaneOptions {
  readonly name: string;
  readonly model: TextModel;
  readonly budget: TokenBudget;
  /** The most texts of a run. */
  readonly maxTexts: number;
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
}

/** Tokenizing more at once would leave the device idle; less would fill its runs badly. */
const TOKENIZE_MS = 4;
/** A speed for ranking, until a run was measured. */
const UNMEASURED_TOKENS_PER_S = 2_000;

export class TextLane implements TurnTaker {
  readonly #options: TextLaneOptions;
  readonly #progress: RunProgress<'texts' | 'tokens' | 'padding' | 'ms'>;
  readonly #unfinished: Unfinished;
  #samples: SampleTexts[] = [];
  #reportedCap: number | undefined;

  constructor(options: TextLaneOptions) {
    this.#options = options;
    this.#progress = new RunProgress(options.clock, (sum) => {
      const samples = this.#samples.map(({ request, answered }) => ({ id: request.id, answered }));
      options.post({ type: 'text-progress', lane: options.name, ...sum, samples });
    });
    this.#unfinished = new Unfinished(options.clock, (sample, error) => this.#fail(sample, error));
  }

  get hasWork(): boolean {
    return this.#samples.length > 0;
  }

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  submit(request: TextSample): void {
    const { model, clock } = this.#options;
    this.#samples.push(new SampleTexts(request, model, clock.monotonic()));
    this.#reportCap();
  }

  /** Cancels a sample, of which nothing more is posted; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    const sample = this.#samples.find(({ request }) => request.id === id);
    if (!sample) return false;
    // A run may have texts of it; their answers are dropped.
    this.#drop(sample);
    return true;
  }

  /** Never rejects: an error fails samples. */
  async takeTurn(): Promise<void> {
    const { budget, maxTexts, clock } = this.#options;
    this.#unfinished.continue();
    this.#postEnded();
    if (this.#unfinished.isFull) return;
    this.#tokenize();
    const texts = chooseRun({
      samples: this.#samples,
      budget: budget.tokens,
      freeTokens: budget.freeTokens,
      maxTexts,
      tokensPerS: budget.tokensPerS ?? UNMEASURED_TOKENS_PER_S,
      now: clock.monotonic(),
    });
    if (texts.length === 0) return;
    const startedAt = clock.monotonic();
    for (const text of texts) text.sample.take(text, startedAt);
    this.#announce(texts);
    const isWhole = await runInHalves(texts, {
      run: (part) => this.#run(part.filter(({ sample }) => !sample.isDropped)),
      onSplit: (part, { code }) => {
        // The halves fail of the same shortage, and say no more about the budget.
        if (code !== 'out-of-memory' || part.length < texts.length) return;
        const longest = part.reduce((length, text) => Math.max(length, text.length), 0);
        budget.lower(Math.floor((longest * part.length) / 2));
      },
      onFailed: ({ sample }, error) => this.#fail(sample, error),
    });
    this.#settle(texts, clock.monotonic() - startedAt, isWhole);
  }

  /** Texts of the samples in turns, so that a job of thousands does not keep the text of another from its run. */
  #tokenize(): void {
    const { clock, budget } = this.#options;
    const startedAt = clock.monotonic();
    const now = (): number => clock.monotonic();
    let left = this.#samples.filter(({ isTokenized }) => !isTokenized);
    // Enough for the next runs; the rest is tokenized between them.
    const wanted = 4 * budget.tokens;
    let waiting = this.#waitingTokens();
    while (left.length > 0) {
      for (const sample of left) {
        try {
          sample.tokenizeNext(now);
          waiting += sample.waiting[0]?.length ?? 0;
        } catch (error) {
          this.#fail(sample, toLehrError(error, 'engine-failed'));
        }
      }
      left = left.filter(({ isTokenized, isDropped }) => !isTokenized && !isDropped);
      if (waiting >= wanted || (waiting > 0 && clock.monotonic() - startedAt >= TOKENIZE_MS)) return;
    }
  }

  #waitingTokens(): number {
    let tokens = 0;
    for (const { waiting } of this.#samples) tokens += waiting.length * (waiting[0]?.length ?? 0);
    return tokens;
  }

  #settle(texts: readonly WaitingText[], ms: number, isWhole: boolean): void {
    const { budget } = this.#options;
    const longest = texts.reduce((length, text) => Math.max(length, text.length), 0);
    const tokens = texts.reduce((sum, text) => sum + text.length, 0);
    const padded = longest * texts.length;
    if (isWhole) budget.observe(padded, ms);
    this.#postEnded();
    const figures = { texts: texts.length, tokens, padding: padded - tokens, ms };
    this.#progress.addRun(figures, !this.hasWork);
    this.#reportCap();
  }

  #postEnded(): void {
    const ended = this.#samples.filter(({ hasEnded }) => hasEnded);
    if (ended.length === 0) return;
    for (const sample of ended) this.#options.post(sample.result());
    this.#samples = this.#samples.filter(({ hasEnded }) => !hasEnded);
  }

  async #run(texts: readonly WaitingText[]): Promise<void> {
    if (texts.length === 0) return;
    const now = (): number => this.#options.clock.monotonic();
    const startedAt = now();
    const rows = await this.#options.model.graph.run(
      texts.map(({ encoded }) => encoded),
      [...new Set(texts.map(({ sample }) => sample.output))],
    );
    // Each text is padded to the longest one, so all take the same share.
    const shareMs = (now() - startedAt) / texts.length;
    for (const { sample } of texts) sample.deviceMs += shareMs;
    for (const [i, text] of texts.entries()) {
      this.#unfinished.add(text.sample, text.sample.finish(text, rows[i], texts.length, now));
    }
    this.#unfinished.continue();
  }

  #fail(sample: SampleTexts, error: LehrError): void {
    if (sample.isDropped) return;
    this.#drop(sample);
    this.#options.post({ type: 'failed', sample: sample.request.id, failure: toPlainError(error) });
  }

  #drop(sample: SampleTexts): void {
    sample.isDropped = true;
    this.#samples = this.#samples.filter((other) => other !== sample);
  }

  #announce(texts: readonly WaitingText[]): void {
    const samples = [...new Set(texts.map(({ sample }) => sample.request.id))];
    this.#options.post({ type: 'running', samples });
  }

  #reportCap(): void {
    const { budget, name, post } = this.#options;
    const rows = claimTokens(budget);
    if (rows === this.#reportedCap) return;
    this.#reportedCap = rows;
    post({ type: 'row-cap', lane: name, rows });
  }
}
