/** Decides whether a decoded window must be decoded again at a higher temperature (openai/whisper, transcribe.py). */
import { deflateSync } from 'node:zlib';

export interface Quality {
  /** Mean over all tokens of the text, end token included. */
  readonly avgLogProbability: number;
  /** How much the text shrinks when compressed: repetitive text shrinks a lot. */
  readonly compressionRatio: number;
  /** The decoder's probability, before the first word, that the window holds no speech. */
  readonly noSpeechProbability: number;
}

/** openai's defaults. */
const MAX_COMPRESSION_RATIO = 2.4;
const MIN_AVG_LOG_PROBABILITY = -1;
const NO_SPEECH_THRESHOLD = 0.6;
const TEMPERATURE_STEP = 0.2;

/** No speech: the decoder found silence likely and wrote a text that is unlikely. Such text is dropped. */
export const isSilence = ({ noSpeechProbability, avgLogProbability }: Quality): boolean =>
  mayBeSilence(noSpeechProbability) && avgLogProbability <= MIN_AVG_LOG_PROBABILITY;

/** Known after the first call. When false, `isSilence` will be false too. */
export const mayBeSilence = (noSpeechProbability: number): boolean =>
  noSpeechProbability > NO_SPEECH_THRESHOLD;

export function needsFallback(quality: Quality): boolean {
  if (isSilence(quality)) return false;
  const { compressionRatio, avgLogProbability } = quality;
  return compressionRatio > MAX_COMPRESSION_RATIO || avgLogProbability < MIN_AVG_LOG_PROBABILITY;
}

/** The temperatures to try in order: from `first` up to 1 in steps of 0.2, or only `first`. */
export function temperatureLadder(first: number, fallback: boolean): number[] {
  const steps = fallback ? Math.floor((1 - first) / TEMPERATURE_STEP + 1e-6) : 0;
  return Array.from(
    { length: steps + 1 },
    (_, step) => Math.round((first + step * TEMPERATURE_STEP) * 100) / 100,
  );
}

/** UTF-8 bytes over their zlib-compressed size. */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length / deflateSync(bytes).length;
}
