/** The script by which BullMQ adds a job with a priority, for a script of Lehr that does more in the same round trip (accept.lua). */
import { createRequire } from 'node:module';

// The package has no types for this file, and shows its scripts nowhere else.
const { addPrioritizedJob } = createRequire(import.meta.url)(
  'bullmq/dist/cjs/scripts/addPrioritizedJob-9.js',
) as { readonly addPrioritizedJob: { readonly content: string } };

export const BULL_ADD_LUA = addPrioritizedJob.content;
