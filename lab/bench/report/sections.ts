/** The parts of the report, and which bench and which charts belong to each. */
import type { ChartPart } from '../charts.ts';

export interface TableSection {
  readonly title: string;
  readonly about: string;
  /** Names of bench files without `.bench.ts`. */
  readonly benches: readonly string[];
  /** Shown only when the reader asks for it: many lines, and a chart says the same. */
  readonly isFolded?: boolean;
}

export const TABLES: readonly TableSection[] = [
  {
    title: 'Speed',
    about: 'All of Lehr and its parts, on the machine named above.',
    benches: ['whole', 'post', 'answer', 'text', 'claim', 'cost', 'host', 'whisper', 'users', 'device'],
  },
  {
    title: 'Cold starts',
    about: 'Until a worker serves, in parts.',
    benches: ['cold-start'],
  },
  {
    title: 'Order of work, on simulated devices',
    about:
      'Lehr beside the usual micro-batcher (classic) on the engine that ships. Time is virtual, and no card took part: a step of r rows takes a + b · r ms. A figure is Lehr over classic.',
    benches: ['policy', 'load', 'poisson'],
  },
  {
    title: 'Queue and Redis',
    about: 'What the queue costs at scale, by the count of Redis itself.',
    benches: ['queue', 'memory', 'fleet-view', 'redis'],
  },
  {
    title: 'Fleets of cards, simulated',
    about: 'Equal cards behind one queue, in virtual time.',
    benches: ['capacity'],
    isFolded: true,
  },
  {
    title: 'What extras cost',
    about: 'Metrics, traces and checkpoints, with over without.',
    benches: ['metrics', 'tracing', 'checkpoint'],
  },
  {
    title: 'Finding settings',
    about: 'lehr tune beside its own measurement of every combination.',
    benches: ['tune'],
  },
  {
    title: 'What the demo models can do',
    about: 'Right pictures of held-out prompts, and word errors of held-out sentences.',
    benches: ['demo-diffusion', 'demo-whisper'],
  },
];

export interface ChartSection {
  readonly part: ChartPart;
  readonly title: string;
  readonly about: string;
  /** What fills this part. */
  readonly benches: readonly string[];
}

export const CHARTS: readonly ChartSection[] = [
  {
    part: 'load',
    title: 'Throughput over load',
    about: 'What comes out, and what a job waits, as more is asked.',
    benches: ['poisson'],
  },
  {
    part: 'waits',
    title: 'Latency and slowdown',
    about:
      'The share of jobs that were at most so slow. Slowdown is latency over the time that the job takes alone.',
    benches: ['poisson', 'load', 'users', 'answer'],
  },
  {
    part: 'batches',
    title: 'Rows per call over time',
    about: 'How full the calls of the graph are while jobs come and go.',
    benches: ['load', 'users'],
  },
  {
    part: 'device',
    title: 'Time of a step over its rows',
    about: 'The curve that decides how many rows are worth their wait.',
    benches: ['device', 'poisson'],
  },
  {
    part: 'cost',
    title: 'Where each millisecond goes',
    about: 'CPU time of every process for one picture and for one request.',
    benches: ['cost', 'post'],
  },
  {
    part: 'scale',
    title: 'What one Redis carries',
    about: 'Measured with simulated workers against a real Redis; fleets of cards are simulated.',
    benches: ['redis', 'capacity'],
  },
];
