/** The sentences and labels of rollouts: which callers get which version of a model. */
import { admin } from './admin.ts';

const percent = (weight: number): string => admin.percent(weight / 100);

const oneDigit = (value: number): string => value.toFixed(1);

export const rollouts = {
  title: (model: string) => `Versions of ${model}`,
  states: { running: 'running', paused: 'paused', promoted: 'promoted', 'rolled-back': 'rolled back' },
  noState: 'no rollout',
  evidence: (canary: string, failures: number, slowness: number): string =>
    `Evidence against version ${canary}: ${oneDigit(failures)} from failures, ${oneDigit(slowness)} from device times.`,
  rollsBack: (limit: number): string => `From ${limit} on, Lehr gives all callers the stable version again.`,
  neverRollsBack: 'Lehr does not roll it back by itself.',
  running: (canary: string, weight: number, stable: string) =>
    `${percent(weight)} of the callers get version ${canary}, all others version ${stable}.`,
  all: (version: string) => `All callers get version ${version}.`,
  unserved: (version: string) => `No live worker serves version ${version}: all callers get the other one.`,
  none: 'The weights in models.yaml decide. A rollout gives a new version to some of the callers.',
  roles: { stable: 'stable', canary: 'canary' },
  share: 'Callers',
  version: 'Version',
  workers: 'Workers',
  jobs: 'Jobs ended',
  failed: 'Failed',
  failedOf: (failed: number, jobs: number) =>
    jobs === 0 ? '0' : `${failed} (${admin.percent(failed / jobs)})`,
  p95: 'Engine time, p95',
  times: (ratio: number) => `${ratio.toFixed(2)} × expected`,
  outcomes: (model: string) => `How the jobs of both versions of ${model} ended`,
  form: (model: string) => `Change the rollout of ${model}`,
  canary: 'Version to try',
  stable: 'All others get',
  byFile: 'as models.yaml says',
  weight: 'Share of the callers that get it',
  weightOf: percent,
  reason: 'Reason',
  reasonHint: 'Why, for the history',
  reasonMissing: 'Say why: the history keeps it.',
  actions: {
    deploy: 'Start the rollout',
    share: 'Change the share',
    pause: 'Pause',
    resume: 'Resume',
    promote: 'Promote',
    rollback: 'Roll back',
  },
  done: {
    deploy: 'The rollout has started.',
    share: 'The share is changed.',
    pause: 'The rollout is paused.',
    resume: 'The rollout continues.',
    promote: 'The version is promoted.',
    rollback: 'The version is rolled back.',
  },
  history: (count: number) => `History (${count})`,
  older: (count: number) => `${count} older: lehr models rollouts shows them.`,
  events: {
    deployed: 'started',
    changed: 'changed',
    paused: 'paused',
    resumed: 'resumed',
    promoted: 'promoted',
    'rolled-back': 'rolled back',
    removed: 'forgotten',
  },
  by: (who: string) => `by ${who}`,
  unknown: 'unknown',
  at: (canary: string, weight: number) => `version ${canary}, ${percent(weight)}`,
} as const;
