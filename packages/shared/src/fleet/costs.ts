/**
 * What jobs of speech, texts and transformed pictures cost: for the API, which admits them by bytes, characters and sizes where it knows them,
 * and the worker, which knows seconds, tokens and tiles.
 */
import type { TextItem } from '../contracts/text.ts';
import type { WorkerStatus } from './fleet.ts';

/** Seconds of audio per second of a T4 with a small Whisper in fp16 and several files in a batch. */
const DEFAULT_AUDIO_S_PER_S = 20;

/**
 * A shorter file costs as much as one of this length, because the encoder reads a whole window of 30 s of every file: with Whisper base on a
 * CPU that is 1.0 s of the 3.5 s that a full window takes. Otherwise a tenant's hundreds of tiny files would count as almost no work.
 */
const LEAST_AUDIO_S = 10;

/** Estimated engine ms of so many seconds of audio, at least 1. A row-step of speech is one second of audio. */
export function speechCostMs(audioS: number, queue: string, lanes: readonly LaneSpeed[]): number {
  const rate = laneSpeed(queue, lanes) ?? DEFAULT_AUDIO_S_PER_S;
  return Math.max(1, Math.round((Math.max(LEAST_AUDIO_S, audioS) / rate) * 1000));
}

/** Tokens per second of a small encoder (22 million weights, fp32) on two cores. */
const DEFAULT_TOKENS_PER_S = 3000;
/** Of English in the vocabulary of BERT. */
const CHARACTERS_PER_TOKEN = 4;
/** A text begins and ends with a special token. */
const SPECIAL_TOKENS = 2;

const tokensOfText = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** Estimated tokens of all texts, special tokens included. */
export function estimateTokens(texts: readonly TextItem[]): number {
  let tokens = 0;
  for (const item of texts) {
    tokens += SPECIAL_TOKENS;
    if (typeof item === 'string') tokens += tokensOfText(item);
    else if ('pair' in item) tokens += tokensOfText(item.text) + tokensOfText(item.pair);
    else tokens += item.length;
  }
  return tokens;
}

/** Estimated engine ms, at least 1; `tokensPerS` is the measured speed of the group. A row-step of text is one token. */
export const textCostMs = (tokens: number, tokensPerS: number = DEFAULT_TOKENS_PER_S): number =>
  Math.max(1, Math.round((tokens / tokensPerS) * 1000));

/** Tiles of 256x256 per second of a small upscaler (ESRGAN's compact form, fp32) on two cores. */
const DEFAULT_TILES_PER_S = 2;

/** Estimated engine ms, at least 1; `tilesPerS` is the measured speed of the group. A row-step of a transformed picture is one tile. */
export const transformCostMs = (tiles: number, tilesPerS: number = DEFAULT_TILES_PER_S): number =>
  Math.max(1, Math.round((tiles / tilesPerS) * 1000));

export type LaneSpeed = Pick<WorkerStatus['lanes'][number], 'queue' | 'row_steps_per_s'>;

/** Row-steps per second of this group: the mean of the lanes that have measured theirs; undefined without any. */
export function laneSpeed(queue: string, lanes: readonly LaneSpeed[]): number | undefined {
  const measured = lanes.filter((lane) => lane.queue === queue && lane.row_steps_per_s > 0);
  if (measured.length === 0) return undefined;
  return measured.reduce((total, lane) => total + lane.row_steps_per_s, 0) / measured.length;
}
