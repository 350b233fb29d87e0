/** A job as text for people. */
import type { Job } from '@lehr/client';
import { durationText, plain, tableOf } from './table.ts';

const WAITS_FOR: Readonly<Record<NonNullable<Job['waits_for']>, string>> = {
  concurrency: 'enough jobs of its concurrency key run',
  tenant: 'an operator has paused your jobs',
  model: 'an operator has paused its model',
};

/** The state of a job in one line. */
export function stateText({ status, run_at, queue, waits_for, progress, metrics, error }: Job): string {
  switch (status) {
    case 'scheduled':
      return `scheduled for ${run_at?.replace(/\.\d+Z$/, 'Z')}`;
    case 'queued': {
      if (waits_for !== undefined) return `queued: ${WAITS_FOR[waits_for]}`;
      const eta = queue?.eta_ms == null ? '' : `, done in about ${durationText(queue.eta_ms)}`;
      return queue ? `queued at position ${queue.position}${eta}` : 'queued';
    }
    case 'running':
      return progress ? `running, ${Math.floor(progress.fraction * 100)} %` : 'running';
    case 'failed':
      return `failed: ${plain(error?.detail ?? '')}`;
    default:
      return metrics ? `${status} in ${durationText(metrics.total_ms)}` : status;
  }
}

const SCORE_DIGITS = 4;

/** A job in several lines. `files` are the paths of the saved pictures and replace their links. */
export function jobText(job: Job, files: readonly string[] = []): string {
  const { id, type, model, attempt, output, error, metrics, metadata, nodes = [] } = job;
  const lines: [string, string][] = [[type, `${model}, attempt ${attempt}`]];
  if (metrics) {
    const { queue_ms, run_ms } = metrics;
    lines.push(['times', `waited ${durationText(queue_ms)}, ran ${durationText(run_ms)}`]);
  }
  for (const { id: node, status, type: kind } of nodes) lines.push([`node ${node}`, `${kind}, ${status}`]);
  for (const [i, { url, width, height, seed }] of (output?.images ?? []).entries()) {
    const drawn = seed === undefined ? '' : `, seed ${seed}`;
    lines.push(['picture', `${width}x${height}${drawn}: ${files[i] ?? url}`]);
  }
  const [labels = []] = type === 'picture-transform' ? (output?.labels ?? []) : [];
  for (const { label, score } of labels)
    lines.push(['label', `${score.toFixed(SCORE_DIGITS)} ${plain(label)}`]);
  if (output?.text !== undefined) lines.push(['text', plain(output.text)]);
  if (error) lines.push(['error', `${error.code}${error.retryable ? ' (a retry may succeed)' : ''}`]);
  for (const [name, value] of Object.entries(metadata)) lines.push([plain(name), plain(value)]);
  const width = Math.max(...lines.map(([name]) => name.length));
  const body = lines.map(([name, value]) => `  ${name.padEnd(width)}  ${value}\n`).join('');
  return `${id} ${stateText(job)}\n${body}`;
}

export function jobsTable(jobs: readonly Job[]): string {
  return tableOf(
    ['JOB', 'TYPE', 'MODEL', 'STATUS', 'CREATED', 'TOOK'],
    jobs.map(({ id, type, model, status, created_at, metrics }) => [
      id,
      type,
      model,
      status,
      created_at.replace(/\.\d+Z$/, 'Z'),
      metrics ? durationText(metrics.total_ms) : '',
    ]),
  );
}
