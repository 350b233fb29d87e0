import type { GraphReport, RuntimeSession } from '../runtime/runtime.ts';

/** To be made after the session's first run: its placement is not known before. */
export const reportOf = (
  graph: string,
  { provider, placement, refusals, isPrepared }: RuntimeSession,
): GraphReport => ({
  graph,
  provider,
  ...(placement && { placement }),
  ...(refusals.length > 0 && { refusals }),
  ...(isPrepared && { prepared: true as const }),
});
