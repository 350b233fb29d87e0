import { type Clock, TextToImageInputSchema } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import type { JobRun } from './job-run.ts';
import type { OutputStore } from './output-store.ts';
import { PictureRun } from './picture-run.ts';

export interface RunParts {
  readonly store: OutputStore;
  readonly clock: Clock;
}

/** The claimed job in hand, by its type; undefined when its input does not fit, as one written by a newer API might not. */
export function runFor(
  claim: Claim,
  record: JobRecord,
  claimedAt: number,
  parts: RunParts,
): JobRun | undefined {
  if (record.type !== 'text-to-image') return undefined;
  const input = TextToImageInputSchema.safeParse(record.input);
  return input.success ? new PictureRun(claim, record, claimedAt, input.data, parts) : undefined;
}
