import type { StoredRollout } from '../../apps/api/src/rollouts/rollout.ts';
import { NO_EVIDENCE } from '../../packages/shared/src/index.ts';

/** A rollout as Redis keeps it: one that runs, gives version 2 to a tenth of the callers, and is decided by administrators only. */
export const storedRollout = (changes: Partial<StoredRollout> = {}): StoredRollout => ({
  v: 1,
  id: 'ro_1',
  model: 'sd',
  rev: 1,
  stable: '1',
  canary: '2',
  weight: 10,
  sticky_by: 'key',
  state: 'running',
  created_at: 0,
  changed_at: 0,
  changed_by: null,
  reason: null,
  auto_rollback: false,
  promote_after: null,
  steps: [],
  stage: 1,
  carried: NO_EVIDENCE,
  ...changes,
});
