import type { Log } from '@lehr/shared';
import type { OpenedModel, UnavailableModel } from '../engine/protocol/messages.ts';

/** Logs the provider that runs each graph, and the providers that refused it. */
export function logModel(log: Log, opened: OpenedModel): void {
  const { ref, batching, reason, graphs, stepMs, rowCap, grownBytes } = opened;
  log.info({ model: ref, batching, graphs, stepMs, rowCap, grownBytes }, 'model opened');
  for (const { graph, provider, refusals } of graphs) {
    if (refusals)
      log.warn({ model: ref, graph, provider, refusals }, 'a preferred provider refused this graph');
  }
  if (batching === 'aligned') {
    log.warn({ model: ref, reason }, 'this model takes one timestep for all rows: its batches are aligned');
  }
}

/** Jobs of the model wait until it can be opened, here or on another worker. */
export const logUnavailable = (log: Log, { ref, failure }: UnavailableModel): void =>
  log.error({ model: ref, failure }, 'model cannot be opened; the worker serves without it');
