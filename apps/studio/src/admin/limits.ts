/** The limits of a key in words: those that differ from the defaults. Pure. */
import type { KeyLimits } from '@lehr/client';
import { texts } from '../texts/index.ts';

/** DEFAULT_LIMITS of packages/shared; a test compares the two. */
export const SHOWN_DEFAULTS: Readonly<KeyLimits> = {
  max_jobs: 10_000,
  max_queued: null,
  cost_per_minute_s: null,
  requests_per_minute: null,
  max_streams: 1000,
  max_backlog_share: 0.5,
  max_stored_mb: 10_000,
  upload_mb_per_day: 50_000,
  max_batches: 100,
  max_batch_lines: null,
  max_priority: 'interactive',
  safety: null,
  weight: 1,
};

export function limitsOf(limits: KeyLimits): string {
  const words = texts.admin.keys;
  const shown = (Object.keys(words.limit) as (keyof KeyLimits)[]).flatMap((name) => {
    const value = limits[name];
    return value === null || value === undefined || value === SHOWN_DEFAULTS[name]
      ? []
      : [inWords(name, value)];
  });
  return shown.join(', ') || words.unlimited;
}

function inWords(name: keyof KeyLimits, value: string | number): string {
  const { limit } = texts.admin.keys;
  if (name === 'max_backlog_share') return `${Math.round(Number(value) * 100)} % ${limit[name]}`;
  if (name === 'max_priority' || name === 'safety' || name === 'weight') return `${limit[name]} ${value}`;
  return `${value} ${limit[name]}`;
}
