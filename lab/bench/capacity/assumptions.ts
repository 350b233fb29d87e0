/**
 * What lab/capacity.md takes from elsewhere: published times of devices, and assumed prices. Nothing here was measured by us. The simulated
 * devices of the benches have the same times.
 */
import type { Card } from './arithmetic.ts';

export interface Device {
  readonly name: string;
  readonly card: Card;
  /** Rows of a full call: the fewest whose throughput is within 3 % of that of 32 rows. */
  readonly rowCap: number;
  readonly from: string;
  /** US dollars an hour for one card, with its share of the machine. */
  readonly onDemand: number;
  readonly spot: number;
  readonly machine: string;
}

/** As the page says it; spot prices change by the hour. */
export const PRICES_FROM =
  'assumed: those of AWS in us-east-1 from memory, not from a price list; check them before you use a figure in dollars';

export const DEVICES: readonly Device[] = [
  {
    name: 'T4',
    card: { stepBaseMs: 9, stepPerRowMs: 61.9, floorMs: 0, pictureMs: 260, textMs: 12 },
    rowCap: 4,
    from: 'Stable Diffusion 1.5, float16, 512x512; published step times of diffusers, compiled, fitted within 0.4 %',
    onDemand: 0.526,
    spot: 0.2,
    machine: 'g4dn.xlarge',
  },
  {
    name: 'A100',
    card: { stepBaseMs: 7.1, stepPerRowMs: 7.94, floorMs: 0, pictureMs: 24, textMs: 4 },
    rowCap: 16,
    from: 'the same model; published step times of diffusers, compiled, fitted within 3 %',
    onDemand: 2.745,
    spot: 1.3,
    machine: 'an eighth of a p4d.24xlarge',
  },
  {
    name: 'H100',
    card: { stepBaseMs: 33, stepPerRowMs: 25, floorMs: 167, pictureMs: 30, textMs: 10 },
    rowCap: 16,
    from: 'another, larger model (Qwen-Image, 512x512, bfloat16); published step times of an H200, fitted within 9 %; picture and text assumed',
    onDemand: 6.88,
    spot: 3,
    machine: 'an eighth of a p5.48xlarge',
  },
];

/** Dollars per GB that leave the region to the internet, the first 10 TB of a month. */
export const EGRESS_PER_GB = 0.09;
/** Dollars per 1,000 PUT requests and per GB-month of S3 Standard. */
export const S3_PER_1000_PUTS = 0.005;
export const S3_PER_GB_MONTH = 0.023;
/** Bytes of a PNG of 512x512, as photographs have; flat drawings are smaller. */
export const PNG_BYTES = 450_000;

export interface SpeechDevice {
  readonly name: string;
  /** Seconds of speech in a second. */
  readonly timesRealTime: number;
  readonly from: string;
  readonly onDemand: number;
  readonly spot: number;
}

const [T4, A100] = DEVICES;

/** Whisper as other programs have published it; Lehr has not run on these cards. */
export const SPEECH: readonly SpeechDevice[] = [
  {
    name: 'T4, large-v3',
    timesRealTime: 145,
    from: '478 tokens a second at 30 running requests (vLLM), 3.3 tokens for a second of speech',
    onDemand: T4.onDemand,
    spot: T4.spot,
  },
  {
    name: 'A100, large-v2',
    timesRealTime: 92,
    from: '150 minutes in 98 s, float16, batch of 24 (insanely-fast-whisper)',
    onDemand: A100.onDemand,
    spot: A100.spot,
  },
];

/** When a second cell is worth its work; rules of thumb. */
export const CELLS = { redisShare: 60, workers: 2000 } as const;
