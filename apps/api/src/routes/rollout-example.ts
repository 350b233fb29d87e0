/** The rollout that the reference shows. */
import type { Rollout, RolloutEvent } from '@lehr/shared';

const DEPLOYED: RolloutEvent = {
  at: '2026-11-23T09:00:00.000Z',
  action: 'deployed',
  by: 'root',
  reason: 'sharper hands',
  rollout: 'ro_9f2c41d07ab3',
  stable: '1',
  canary: '2',
  weight: 10,
  state: 'running',
};

export const ROLLOUT: Rollout = {
  object: 'rollout',
  id: 'ro_9f2c41d07ab3',
  model: 'sd',
  state: 'running',
  stable: '1',
  canary: '2',
  weight: 10,
  sticky_by: 'key',
  created_at: DEPLOYED.at,
  changed_at: DEPLOYED.at,
  changed_by: 'root',
  reason: 'sharper hands',
  workers: { stable: 4, canary: 1 },
  outcomes: {
    stable: { jobs: 912, failed: 3, failures: { 'engine-failed': 3 }, p95: 1.15 },
    canary: { jobs: 104, failed: 1, failures: { 'engine-failed': 1 }, p95: 1.05 },
  },
  analysis: {
    auto_rollback: true,
    promote_after: 500,
    steps: [10, 50],
    limit: 400,
    evidence: { failures: 0.4, slowness: 0.1 },
    stable: { jobs: 912, failed: 3 },
    canary: { jobs: 104, failed: 1 },
    pairs: { slower: 6, faster: 94 },
  },
  history: [DEPLOYED],
};
