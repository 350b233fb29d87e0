/**
 * An attempt of a speech-to-text job: the audio is fetched and decoded, then goes to the engine window by window.
 *
 *   sequential   one window at a time, each a part of the log-mel of the whole file; each result decides where the next window begins
 *                and which tokens it is told
 *   fast         cut at silences; all windows at once, independent of one another, each with a log-mel of its own
 */
import {
  type Clock,
  type JobMetrics,
  LehrError,
  type Progress,
  type SpeechTimings,
  type SpeechToTextInput,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord, Move } from '@lehr/shared/records';
import { inPart } from '@lehr/shared/tracing';
import type { SegmentMessage, WhisperAbilities } from '../../engine/protocol/messages.ts';
import type { AudioProcessor, SampleRange } from '../audio/audio-processor.ts';
import type { Waveform } from '../audio/waveform.ts';
import type { OutputStore } from '../delivery/output-store.ts';
import type { ChargeAudio } from './charge.ts';
import { JobRun, type SampleResult, type SampleRun } from './job-run.ts';
import type { FetchMedia } from './media-source.ts';
import { metricsOf, roundedMs } from './timeline.ts';
import { type TextPart, TranscriptBuilder } from './transcript-builder.ts';
import { type WindowOfFile, type WindowRun, windowRun } from './window-run.ts';

export interface SpeechParts {
  readonly store: OutputStore;
  readonly clock: Clock;
  readonly audio: AudioProcessor;
  readonly fetchMedia: FetchMedia;
  readonly chargeAudio: ChargeAudio;
  readonly abilities: WhisperAbilities;
  /** The longest audio that the model takes, in seconds. */
  readonly maxAudioS: number;
  /** Called for each part of the text that is final. */
  readonly onText: (run: JobRun, part: TextPart) => void;
}

/** A rest of a window shorter than this holds no word. */
const MIN_REST_S = 0.1;
/** An hour of sound takes a few seconds; a file made to take longer is refused. */
const DECODE_TIMEOUT_MS = 60_000;
/** The most windows of one file in the engine at once: enough for a full batch, and few enough to hold in memory. */
const MAX_WINDOWS = 16;
/** A longer transcript is stored as an object; the record then keeps only its text. */
const MAX_INLINE_BYTES = 16_384;

export class SpeechRun extends JobRun {
  readonly #input: SpeechToTextInput;
  readonly #parts: SpeechParts;
  /** The windows that the engine has. */
  readonly #windows = new Set<WindowRun>();
  /** Fast mode: the ranges that have not been submitted yet. */
  #ahead: SampleRange[] = [];
  #begun = 0;
  #ended = 0;
  #waveform: Waveform | undefined;
  /** Sequential mode: the largest value in the log-mel of the file, from the first pass over it, or from the first window if that has all of it. */
  #loudest: number | undefined;
  /** Gives back the memory of the waveform. */
  #release: () => void = () => {};
  #builder: TranscriptBuilder | undefined;
  #marks = { fetched: 0, decoded: 0, transcribed: 0, stored: 0 };
  #output: object | undefined;
  #batchSizeSum = 0;
  #deviceMs = 0;

  constructor(
    claim: Claim,
    record: JobRecord,
    claimedAt: number,
    input: SpeechToTextInput,
    parts: SpeechParts,
  ) {
    super(claim, record, claimedAt);
    this.#input = input;
    this.#parts = parts;
  }

  get samples(): readonly SampleRun[] {
    return [...this.#windows];
  }

  get isDone(): boolean {
    return this.#output !== undefined;
  }

  get firstRows(): number {
    return 1;
  }

  override get fetchesInput(): boolean {
    return true;
  }

  override get leftMs(): number {
    return this.record.cost * (1 - this.progress.fraction);
  }

  get audioSeconds(): number {
    return this.#builder?.duration ?? 0;
  }

  /** From the claim to the stored transcript. */
  get runMs(): number {
    return Math.max(0, this.#marks.stored - this.claimedAt);
  }

  /** From the decoded audio to the last window, once the job is done. */
  get engineMs(): number {
    return Math.max(0, this.#marks.transcribed - this.#marks.decoded);
  }

  get progress(): Progress {
    const steps = Math.max(1, Math.ceil(this.audioSeconds));
    const step = Math.min(steps, Math.floor(this.#builder?.transcribedSeconds ?? 0));
    return {
      fraction: Math.round((step / steps) * 1000) / 1000,
      stage: this.#builder ? 'transcribe' : 'audio',
      step,
      steps,
    };
  }

  async begin(): Promise<readonly SampleRun[]> {
    const { audio, chargeAudio, clock, fetchMedia, abilities, maxAudioS } = this.#parts;
    this.#checkAbilities();
    const bytes = await inPart(this.span, 'fetch audio', () =>
      fetchMedia('audio', this.#input.audio, this.signal),
    );
    this.#marks.fetched = clock.monotonic();
    const limits = { maxDurationS: maxAudioS, timeoutMs: DECODE_TIMEOUT_MS };
    const { tenant: owner, priority } = this.record;
    const sound = { bytes, limits, owner, priority, signal: this.signal };
    const decoded = await inPart(this.span, 'decode audio', () => audio.decode(sound));
    this.#release = decoded.release;
    await chargeAudio(this, decoded.durationS);
    this.#marks.decoded = clock.monotonic();
    this.#waveform = decoded.waveform;
    this.#builder = new TranscriptBuilder(decoded.durationS, this.#input);
    const { windowSamples } = abilities.frontEnd;
    if (this.#waveform.length === 0) return this.#finish();
    if (this.#input.mode === 'sequential') {
      this.#loudest = await audio.loudest(this.#waveform, abilities.frontEnd, this.signal, priority);
      return [await this.#window(0, windowSamples)];
    }
    this.#ahead = [...(await audio.cut(this.#waveform, windowSamples, priority))];
    this.#builder.plan(this.#ahead.map(({ start }) => start / abilities.frontEnd.sampleRate));
    return this.#nextWindows();
  }

  async addResult(sample: SampleRun, result: SampleResult): Promise<readonly SampleRun[]> {
    if (result.type !== 'transcribed')
      throw new Error(`A window ended as ${result.type}. This is a bug in Lehr.`);
    const window = sample as WindowRun;
    this.#windows.delete(window);
    this.#ended += 1;
    this.#batchSizeSum += result.batchSize;
    this.#deviceMs += result.timings.deviceMs;
    const { sampleRate, hopLength, windowSamples } = this.#parts.abilities.frontEnd;
    const next = window.start + result.advanceFrames * hopLength;
    const end = this.#input.mode === 'fast' ? window.end : (this.#waveform?.length ?? 0);
    const isComplete = end - next < MIN_REST_S * sampleRate;
    if (this.#input.mode === 'fast' && !isComplete) {
      // The decoder stops before speech that it takes for cut off. The rest is planned before the text of this window is sent,
      // because the text of later windows waits for it.
      this.#ahead.unshift({ start: next, end });
      this.#built.planAlso(next / sampleRate);
    }
    this.#sendText(this.#built.add(window.start / sampleRate, result));
    if (this.#input.mode === 'fast') {
      const isLast = this.#ahead.length === 0 && this.#ended === this.#begun;
      return isLast ? this.#finish() : this.#nextWindows();
    }
    if (isComplete) return this.#finish();
    return [await this.#window(next, windowSamples, { prompt: '', previousTokens: result.nextContext })];
  }

  override addSegment(sample: SampleRun, message: SegmentMessage): void {
    if (message.provisional) return;
    const { sampleRate } = this.#parts.abilities.frontEnd;
    this.#sendText(this.#built.addSegment((sample as WindowRun).start / sampleRate, message.segment));
  }

  successFields(worker: string): Move['fields'] {
    const { fetched, decoded, transcribed, stored } = this.#marks;
    const ms = (from: number, to: number): number => Math.max(0, Math.round(to) - Math.round(from));
    const timings: SpeechTimings = {
      queued: Math.max(0, Math.round(this.queuedMs)),
      fetch: ms(this.claimedAt, fetched),
      decode: ms(fetched, decoded),
      transcribe: ms(decoded, transcribed),
      store: ms(transcribed, stored),
    };
    const batchSize = this.#ended === 0 ? null : this.#batchSizeSum / this.#ended;
    const metrics: JobMetrics = {
      ...metricsOf(timings, batchSize, worker),
      device_ms: roundedMs(this.#deviceMs),
      audio_seconds: this.audioSeconds,
    };
    return { output: this.#output ?? {}, metrics };
  }

  get #built(): TranscriptBuilder {
    if (!this.#builder)
      throw new Error('A window ended before its audio was decoded. This is a bug in Lehr.');
    return this.#builder;
  }

  #checkAbilities(): void {
    const { languages, timesWords } = this.#parts.abilities;
    const { language, task, timestamps } = this.#input;
    if (timestamps === 'word' && !timesWords) {
      throw refused(
        'timestamps',
        'word timestamps need a model whose graphs output cross-attentions, such as an export named _timestamped; those of this model do not',
      );
    }
    if (languages === null && task === 'translate')
      throw refused('task', 'this model knows English only and cannot translate');
    if (language !== null && !(languages ?? ['en']).includes(language)) {
      throw refused('language', `must be one of: ${(languages ?? ['en']).join(', ')}`);
    }
  }

  #sendText(part: TextPart): void {
    if (part.text !== '') this.#parts.onText(this, part);
  }

  /** Fast mode: the next windows, as many as the engine may have at once. */
  #nextWindows(): Promise<readonly WindowRun[]> {
    const ranges = this.#ahead.splice(0, MAX_WINDOWS - (this.#begun - this.#ended));
    return Promise.all(ranges.map(({ start, end }) => this.#window(start, end - start)));
  }

  /** The first window of a file, and each one of the fast mode, is told the caller's prompt. */
  async #window(
    start: number,
    length: number,
    told: Pick<WindowOfFile, 'prompt' | 'previousTokens'> = {
      prompt: this.#input.prompt,
      previousTokens: [],
    },
  ): Promise<WindowRun> {
    const { frontEnd } = this.#parts.abilities;
    const end = Math.min(start + length, (this.#waveform as Waveform).length);
    const index = this.#begun;
    this.#begun += 1;
    const mel = await this.#mel({ start, end });
    const language = this.#input.language ?? this.#builder?.language ?? null;
    const parts = { index, range: { start, end }, mel, language, ...told };
    const window = windowRun(this.record, this.#input, frontEnd, parts);
    this.#windows.add(window);
    return window;
  }

  async #mel({ start, end }: SampleRange): Promise<Float32Array> {
    const { audio, abilities } = this.#parts;
    const waveform = this.#waveform as Waveform;
    const { priority } = this.record;
    if (this.#input.mode === 'fast') return audio.mel(waveform, start, abilities.frontEnd, end, priority);
    const part = await audio.recordingMel(waveform, start, abilities.frontEnd, this.#loudest, priority);
    this.#loudest = part.loudest;
    return part.mel;
  }

  /** Stores the transcript: a long one as an object, a short one in the record. */
  async #finish(): Promise<readonly SampleRun[]> {
    const { clock, store } = this.#parts;
    this.#marks.transcribed = clock.monotonic();
    const transcript = this.#built.transcript();
    const bytes = Buffer.from(JSON.stringify(transcript));
    if (bytes.length <= MAX_INLINE_BYTES) {
      this.#output = { transcript };
    } else {
      const key = this.outputKey('transcript.json');
      await inPart(this.span, 'upload', () => store.put(this, key, bytes, 'application/json'));
      const { segments, words, ...kept } = transcript;
      this.#output = { transcript: { ...kept, key } };
    }
    this.#marks.stored = clock.monotonic();
    this.#waveform = undefined;
    this.#release();
    return [];
  }
}

const refused = (field: string, detail: string): LehrError =>
  new LehrError('invalid-input', `input.${field}: ${detail}.`, {
    problems: [{ pointer: `/input/${field}`, detail }],
  });
