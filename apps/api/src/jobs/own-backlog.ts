/** How much work of its tenant may wait for the workers of a job, by the limit of the key. */
import type { KeyLimits } from '@lehr/shared';
import type { OwnBacklog } from '@lehr/shared/queue';
import type { ModelSharesView } from '../fleet/model-shares.ts';

/** `models` are those of the job, or of the nodes of a workflow. */
export async function ownBacklogOf(
  { modelShares, maxWaitMs }: { readonly modelShares: ModelSharesView; readonly maxWaitMs: number },
  { max_backlog_share: limit }: KeyLimits,
  models: readonly string[],
): Promise<OwnBacklog> {
  const all = await Promise.all(models.map((model) => modelShares.of(model)));
  const workers = Math.max(1, Math.min(...all.map((each) => each.workers)));
  const shares = new Map<string, number>();
  for (const [model, share] of all.flatMap((each) => [...each.shares])) {
    shares.set(model, Math.max(share, shares.get(model) ?? 0));
  }
  return { maxMs: limit === null ? Number.MAX_SAFE_INTEGER : limit * maxWaitMs * workers, shares };
}
