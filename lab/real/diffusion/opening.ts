/** What it takes to open a pipeline of full size: time, and memory at its largest. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Bench, Row } from '../section.ts';
import { fullSize, sizeOf } from './full-size.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const FROM_SOURCE = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];
const SAMPLE_MS = 50;
const MB = 1e6;

interface Opened {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly batching: string;
  /** The largest that were seen, in bytes. */
  readonly peakBytes: number;
  readonly peakOwnBytes: number;
  close(): Promise<void>;
}

async function openInProcess(folder: string): Promise<Opened> {
  const script = join(ROOT, 'lab/real/diffusion/open-model.ts');
  const child = spawn(process.execPath, [...FROM_SOURCE, script, folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const peak = { VmRSS: 0, RssAnon: 0 };
  const timer = setInterval(() => {
    for (const name of ['VmRSS', 'RssAnon'] as const)
      peak[name] = Math.max(peak[name], procBytes(child, name));
  }, SAMPLE_MS);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value, done } = await lines.next();
  clearInterval(timer);
  if (done) throw new Error(`${folder} could not be opened; the output is above.`);
  return {
    ...(JSON.parse(value) as Pick<Opened, 'seconds' | 'cpuSeconds' | 'batching'>),
    peakBytes: peak.VmRSS,
    peakOwnBytes: peak.RssAnon,
    close: async () => {
      const ended = once(child, 'close');
      child.stdin.end();
      await ended;
    },
  };
}

/** A line of /proc/PID/status in bytes; 0 when the process has ended. */
function procBytes({ pid }: ChildProcess, name: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

export async function opening(bench: Bench): Promise<readonly Row[]> {
  const folder = join(await fullSize(bench, 'sd15'), 'onnx');
  const weights = await sizeOf(folder);
  bench.say('opening it in one process');
  const first = await openInProcess(folder);
  const ratio = first.peakBytes / weights;
  const rows: Row[] = [
    { what: 'Files of the pipeline', figure: Math.round(weights / MB), unit: 'MB' },
    {
      what: 'Time to open it and to run every graph once',
      figure: first.seconds,
      unit: 's',
      note: `${Math.round(first.cpuSeconds)} s of CPU time. Rows of a batch: ${first.batching === 'rows' ? 'step by step' : 'aligned'}`,
    },
    {
      what: 'Resident memory at its largest, over the size of the files',
      lehr: Math.round(first.peakBytes / MB),
      other: Math.round(weights / MB),
      unit: 'MB',
      figure: ratio,
      wanted: '<= 1.2',
      met: ratio <= 1.2,
    },
    { what: 'Of that, private memory', figure: Math.round(first.peakOwnBytes / MB), unit: 'MB' },
  ];
  await first.close();
  return rows;
}
