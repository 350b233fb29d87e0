import type { Log } from '@lehr/shared';
import type { OpenedModel } from './engine/protocol.ts';

/** Says which provider really runs each graph, and what was refused on the way there. */
export function logModel(log: Log, { ref, batching, reason, graphs, stepMs, rowCap }: OpenedModel): void {
  log.info({ model: ref, batching, graphs, stepMs, rowCap }, 'model open');
  for (const { graph, provider, refusals } of graphs) {
    if (refusals)
      log.warn({ model: ref, graph, provider, refusals }, 'a better provider did not take this graph');
  }
  if (batching === 'aligned') {
    log.warn({ model: ref, reason }, 'this graph takes one timestep for all rows: its batches are aligned');
  }
}
