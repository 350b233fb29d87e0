/** Programs that transcribe files, each in its own process and in two threads, behind one interface. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { startSpeechLehr, THREADS } from '../lehr.ts';
import type { Bench } from '../section.ts';
import type { Models } from '../whisper/models.ts';
import { bytesOf, type Spoken } from '../whisper/speech.ts';

export interface Outcome {
  readonly texts: readonly string[];
  readonly seconds: number;
  readonly peakMb: number;
}

export interface Side {
  readonly name: string;
  /** All files at once, as far as the program can; `isLong`: its way for files of many windows. */
  transcribe(files: readonly Spoken[], options?: { isLong?: boolean; mode?: string }): Promise<Outcome>;
  close(): Promise<void>;
}

/** API, worker and engine together; files are uploaded before the clock starts. */
export async function lehrSide(name: string, folder: string): Promise<Side> {
  const lehr = await startSpeechLehr(folder);
  const links = new Map<string, string>();
  return {
    name,
    transcribe: async (files, { mode = 'sequential' } = {}) => {
      for (const spoken of files) {
        if (!links.has(spoken.file)) links.set(spoken.file, await lehr.upload(await bytesOf(spoken)));
      }
      const startedAt = performance.now();
      const transcripts = await Promise.all(
        files.map(({ file }) => lehr.transcribe(links.get(file) ?? '', { language: 'en', mode })),
      );
      const seconds = (performance.now() - startedAt) / 1000;
      return { texts: transcripts.map(({ text }) => text), seconds, peakMb: peakMbOf(lehr.pids) };
    },
    close: lehr.close,
  };
}

interface PythonAnswer {
  readonly texts: readonly string[];
  readonly seconds: number;
  readonly peak_mb: number;
}

/** `options` go to peers.py: the program and its settings. `environment` is the first one of the section by default. */
export async function pythonSide(
  name: string,
  bench: Bench,
  models: Models,
  options: object,
  environment?: string,
): Promise<Side> {
  const python = await bench.openPython('lab/real/peers/peers.py', { environment });
  const root = models.folder('.');
  return {
    name,
    transcribe: async (files, { isLong = false } = {}) => {
      const body = {
        root,
        ...(isLong && { batched: true }),
        ...options,
        files: files.map(({ file }) => file),
      };
      const { peak_mb: peakMb, ...answer } = await python.ask<PythonAnswer>(body);
      return { ...answer, peakMb };
    },
    close: () => python.close(),
  };
}

const SCRIPT = new URL('./transformers-js.ts', import.meta.url).pathname;

export async function transformersJsSide(name: string, folder: string): Promise<Side> {
  const args = [...process.execArgv, SCRIPT, folder, 'fp32', `${THREADS}`];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  if (!child.stdout || !child.stdin) throw new Error('A pipe is missing.');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exit = once(child, 'close');
  return {
    name,
    transcribe: async (files) => {
      child.stdin?.write(`${JSON.stringify({ files: files.map(({ file }) => file) })}\n`);
      const { done, value } = await lines.next();
      if (done) throw new Error('transformers-js.ts ended without an answer; its output is above.');
      const { answer } = JSON.parse(value) as { answer: PythonAnswer };
      return { texts: answer.texts, seconds: answer.seconds, peakMb: answer.peak_mb };
    },
    close: async () => {
      child.stdin?.end();
      await exit;
    },
  };
}

/** The most memory that these processes and their children had, summed, in MB: VmHWM of Linux. */
function peakMbOf(pids: readonly number[]): number {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    const status = /^\d+$/.test(entry) ? statusOf(entry) : '';
    const parent = /^PPid:\s+(\d+)/m.exec(status)?.[1];
    if (parent) parents.set(Number(entry), Number(parent));
  }
  const isOurs = (pid: number): boolean =>
    pids.includes(pid) || (parents.has(pid) && isOurs(parents.get(pid) ?? 0));
  const peaks = [...parents.keys()]
    .filter(isOurs)
    .map((pid) => /^VmHWM:\s+(\d+)/m.exec(statusOf(`${pid}`))?.[1]);
  return peaks.reduce((sum, kilobytes) => sum + Number(kilobytes ?? 0) / 1024, 0);
}

function statusOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    // It has ended.
    return '';
  }
}
