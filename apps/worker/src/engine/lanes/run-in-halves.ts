import { type LehrError, toLehrError } from '@lehr/shared';

interface Attempt<Item> {
  readonly run: (part: readonly Item[]) => Promise<void>;
  /** Called when several items failed together, before their halves run. */
  readonly onSplit?: (part: readonly Item[], error: LehrError) => void;
  /** Called when an item failed alone. */
  readonly onFailed: (item: Item, error: LehrError) => void;
}

/**
 * Runs items together. A failed run is repeated in halves, so that only the items that cannot run fail. Resolves with whether all ran
 * together: the time of a run that was split is no measure of a whole one. Never rejects.
 */
export async function runInHalves<Item>(items: readonly Item[], attempt: Attempt<Item>): Promise<boolean> {
  try {
    await attempt.run(items);
    return true;
  } catch (cause) {
    const error = toLehrError(cause, 'engine-failed');
    if (items.length === 1) {
      attempt.onFailed(items[0], error);
    } else {
      attempt.onSplit?.(items, error);
      const middle = Math.ceil(items.length / 2);
      await runInHalves(items.slice(0, middle), attempt);
      await runInHalves(items.slice(middle), attempt);
    }
    return false;
  }
}
