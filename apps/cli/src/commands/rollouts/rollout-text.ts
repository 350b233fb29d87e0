/** Reads the arguments of commands for rollouts, and writes a rollout for people. */
import type { Rollout } from '@lehr/client';
import { usageError } from '../../exit-codes.ts';
import { plain, tableOf } from '../../table.ts';
import type { Terminal } from '../../terminal.ts';

/** Throws CliError unless the text is `name@version`. */
export function versionOf(text: string): { model: string; version: string } {
  const [model, version, ...rest] = text.split('@');
  if (model && version && rest.length === 0) return { model, version };
  throw usageError(`${JSON.stringify(text)} is not a model with its version, such as sd@2`);
}

/** Reads `10%` or `10`. Throws CliError for anything but a number from 0 to 100. */
export function percentOf(name: string, text: string): number {
  const percent = /^\d+(?:\.\d+)?%?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (percent >= 0 && percent <= 100) return percent;
  throw usageError(`--${name} is ${JSON.stringify(text)}, expected a share from 0% to 100%`);
}

/** Undefined when it is not given. Throws CliError for any other word. */
export function onOrOff(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === 'on' || text === 'off') return text === 'on';
  throw usageError(`--${name} is ${JSON.stringify(text)}, expected on or off`);
}

/** Throws CliError for anything but a whole number. */
export function jobsOf(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usageError(`--${name} is ${JSON.stringify(text)}, expected a number of jobs`);
}

export function showRollout({ out }: Terminal, json: boolean, rollout: Rollout): void {
  if (json) {
    out(`${JSON.stringify(rollout)}\n`);
    return;
  }
  const { model, canary, stable, workers, outcomes, reason } = rollout;
  out(`${plain(`${model}@${canary}`)} ${statusOf(rollout)}\n`);
  if (reason !== null) out(`${plain(reason)}\n`);
  const rows = [
    ['stable', stable, `${workers.stable}`, ...cellsOf(outcomes.stable)],
    ['canary', canary, `${workers.canary}`, ...cellsOf(outcomes.canary)],
  ];
  out(tableOf(['', 'VERSION', 'WORKERS', 'JOBS', 'FAILED', 'P95'], rows));
  for (const line of analysisLines(rollout)) out(`${line}\n`);
}

function analysisLines({ analysis }: Rollout): readonly string[] {
  const { evidence, limit, auto_rollback, promote_after, steps, canary } = analysis;
  const { failures, slowness } = evidence;
  const plan = steps.length > 0 ? ` in each step of ${steps.map((step) => `${step}%`).join(', ')}` : '';
  return [
    `evidence against it: ${failures} for failures, ${slowness} for slowness; ` +
      (auto_rollback ? `from ${limit} on it is rolled back` : 'it is not rolled back by itself'),
    ...(promote_after === null
      ? []
      : [`promoted after ${promote_after} of its jobs${plan}; ${canary.jobs} ended at this share`]),
  ];
}

function statusOf({ state, stable, weight }: Rollout): string {
  switch (state) {
    case 'running':
      return `gets ${weight}% of the callers`;
    case 'paused':
      return `is paused: all callers get ${plain(stable)}`;
    case 'promoted':
      return 'is promoted: all callers get it';
    case 'rolled-back':
      return `is rolled back: all callers get ${plain(stable)}`;
  }
}

const cellsOf = ({ jobs, failed, p95 }: Rollout['outcomes']['stable']): string[] => [
  `${jobs}`,
  `${failed}`,
  p95 === null ? '-' : `${p95}`,
];
