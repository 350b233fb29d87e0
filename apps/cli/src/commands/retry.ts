import { type Job, type Lehr, LehrError, type LehrErrorCode, type ListOptions } from '@lehr/client';
import { defineCommand, numberOf } from '../command.ts';
import { EXIT, usageError } from '../exit-codes.ts';
import { plain } from '../table.ts';
import type { Terminal } from '../terminal.ts';

const MAX_PAGE = 100;
const DEFAULT_LIMIT = 100;
const MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const retryJobs = defineCommand({
  name: 'jobs retry',
  operands: '[JOB...]',
  count: [0, Number.POSITIVE_INFINITY],
  summary: 'Create new jobs from the input of jobs that have ended.',
  notes: [
    'A job that an earlier --failed retried is not retried again; its new job is shown. Workflows and their nodes are skipped.',
    'With --failed, a job that cannot be retried, because its model is gone for example, is named on standard error, and the others are retried.',
  ],
  options: {
    failed: { type: 'boolean', help: 'Retry the jobs that failed, newest first, instead of given jobs.' },
    model: {
      type: 'string',
      short: 'm',
      value: 'NAME',
      help: 'With --failed: of this model, or model@version.',
    },
    type: {
      type: 'string',
      value: 'TYPE',
      help: 'With --failed: text-to-image, speech-to-text, text-embedding or another type.',
    },
    code: {
      type: 'string',
      value: 'CODE',
      help: 'With --failed: that failed with this error code, such as engine-crashed.',
    },
    since: {
      type: 'string',
      value: 'TIME',
      help: 'With --failed: created since this date, or in the last 90s, 30m, 2h or 7d.',
    },
    limit: {
      type: 'string',
      value: 'N',
      help: `With --failed: the largest number of jobs. Default: ${DEFAULT_LIMIT}.`,
    },
  },
  run: async ({ values, positionals, terminal, json, client }) => {
    const { failed = false, model, type, code, since } = values;
    const limit = numberOf('limit', values.limit) ?? DEFAULT_LIMIT;
    if (limit < 1 || !Number.isInteger(limit))
      throw usageError(`--limit is ${JSON.stringify(values.limit)}, expected a whole number above 0`);
    if (failed === positionals.length > 0) throw usageError('expected either JOB... or --failed');
    if (!failed && (model ?? type ?? code ?? since ?? values.limit) !== undefined)
      throw usageError('--model, --type, --code, --since and --limit need --failed');
    const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : timeOf(since);
    const lehr = await client();
    const { signal } = terminal;
    const ids = failed ? await failedJobs(lehr, { model, type, code, sinceMs, limit, signal }) : positionals;
    const made: Job[] = [];
    let refused = 0;
    try {
      for (const id of ids) {
        const job = await (failed ? retryOnce(lehr, id, terminal) : lehr.retry(id, { signal }));
        if (job === 'refused') refused += 1;
        if (typeof job === 'string') continue;
        made.push(job);
        if (!json) terminal.out(`${job.id} retries ${id}\n`);
      }
    } finally {
      // Also after an error: these jobs exist.
      if (json) terminal.out(`${JSON.stringify(made)}\n`);
    }
    if (!json && made.length === 0) terminal.out('No jobs.\n');
    return refused > 0 ? EXIT.refused : EXIT.ok;
  },
});

/** About one job: the next one may be retried. */
const REFUSALS: readonly LehrErrorCode[] = ['model-not-found', 'gone', 'not-found', 'invalid-input'];

/**
 * Equal keys make a second --failed safe: it returns the new jobs of the first one. A workflow or a node, which can never be
 * retried, is skipped.
 */
async function retryOnce(
  lehr: Lehr,
  id: string,
  { signal, err }: Pick<Terminal, 'signal' | 'err'>,
): Promise<Job | 'skipped' | 'refused'> {
  try {
    return await lehr.retry(id, { signal, idempotencyKey: `retry-failed-${id}` });
  } catch (error) {
    if (!(error instanceof LehrError)) throw error;
    if (error.code === 'conflict') return 'skipped';
    if (!REFUSALS.includes(error.code)) throw error;
    err(`lehr: ${id} is not retried: ${plain(error.message)}\n`);
    return 'refused';
  }
}

interface FailedFilter {
  readonly model: string | undefined;
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly sinceMs: number;
  readonly limit: number;
  readonly signal: AbortSignal;
}

async function failedJobs(lehr: Lehr, filter: FailedFilter): Promise<string[]> {
  const { model, code, sinceMs, limit, signal } = filter;
  const type = filter.type as ListOptions['type'];
  const ids: string[] = [];
  for await (const job of lehr.list({ status: 'failed', model, type, limit: MAX_PAGE, signal })) {
    if (Date.parse(job.created_at) < sinceMs || ids.length === limit) break;
    if (code === undefined || job.error?.code === code) ids.push(job.id);
  }
  return ids;
}

/** A date, or a time span before now. */
function timeOf(text: string): number {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const ms =
    count === undefined ? Date.parse(text) : Date.now() - Number(count) * MS[unit as keyof typeof MS];
  if (Number.isNaN(ms))
    throw usageError(`--since is ${JSON.stringify(text)}, expected a date or a time such as 2h`);
  return ms;
}
