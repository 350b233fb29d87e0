/** Runs a trial in a process and reads its answer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TrialRequest, TrialResult } from './trial.ts';

export type TrialAnswer = { readonly result: TrialResult } | { readonly failure: string };

const ENTRY = new URL('./trial-main.js', import.meta.url);
/** A session that takes longer is not what anyone wants. */
const TRIAL_LIMIT_MS = 30 * 60_000;
const MAX_ERROR_LENGTH = 500;

/** A trial whose process dies, such as by the kernel's out-of-memory killer, is a failure of its settings. */
export async function runTrialProcess(request: TrialRequest, entry: URL = ENTRY): Promise<TrialAnswer> {
  const child = spawn(process.execPath, [fileURLToPath(entry), JSON.stringify(request)], {
    // Its end tells the trial that this process is gone, also after a kill.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const limit = setTimeout(() => child.kill('SIGKILL'), TRIAL_LIMIT_MS);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(-MAX_ERROR_LENGTH);
  });
  const ended = once(child, 'close').finally(() => clearTimeout(limit));
  const [code, killedBy] = (await ended) as [code: number | null, killedBy: string | null];
  try {
    return JSON.parse(stdout) as TrialAnswer;
  } catch {
    return { failure: `the process ended (${killedBy ?? code}): ${stderr.trim()}` };
  }
}
