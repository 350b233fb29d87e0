/** The figures of docs/rollouts.md: simulated rollouts, judged after every job, with fixed seeds. */
import { describe, expect, test } from 'vitest';
import { FALSE_ALARM_RATE } from '../../packages/shared/src/index.ts';
import { readText } from '../../test/repo/readme.ts';
import { Random } from '../../test/support/random.ts';
import { type Alarm, type SimulatedRollout, simulateRollout } from '../../test/support/simulated-rollout.ts';

const PAGE = readText('docs/rollouts.md');
const GOOD = { fails: { stable: 0.01, canary: 0.01 }, slowness: 1, spread: 0.4 };
const failing = (canary: number) => ({ ...GOOD, fails: { stable: 0.01, canary } });

/** By the text of the first cells of the page's table. */
const CASES: Readonly<Record<string, Omit<SimulatedRollout, 'jobs'>>> = {
  'fails 20 %, stable 1 % | 10 %': { ...failing(0.2), shares: [0.1] },
  'fails 20 %, stable 1 % | 50 %': { ...failing(0.2), shares: [0.5] },
  'fails 5 %, stable 1 % | 10 %': { ...failing(0.05), shares: [0.1] },
  'always fails | 10 %': { ...failing(1), shares: [0.1] },
  'takes twice as long | 10 %': { ...GOOD, slowness: 2, shares: [0.1] },
  'takes twice as long | 50 %': { ...GOOD, slowness: 2, shares: [0.5] },
  'takes 1.5 times as long | 10 %': { ...GOOD, slowness: 1.5, shares: [0.1] },
};
/** The nearest to a good version: it takes the most jobs to tell them from one. */
const LONG = ['fails 5 %, stable 1 % | 10 %', 'takes 1.5 times as long | 10 %'];
const ROLLOUTS = 500;
const JOBS = 20_000;

describe('The jobs of the canary until it is rolled back', () => {
  for (const [name, rollout] of Object.entries(CASES)) {
    test(name, { tags: LONG.includes(name) ? ['long'] : [] }, () => {
      const random = new Random(7);
      const jobs = Array.from({ length: ROLLOUTS }, () => {
        const alarm = simulateRollout({ ...rollout, jobs: JOBS }, random);
        return alarm?.canaryJobs ?? Number.POSITIVE_INFINITY;
      }).sort((a, b) => a - b);
      const at = (share: number): number => jobs[Math.ceil(share * ROLLOUTS) - 1];
      const line = `| ${name} | ${at(0.5)} | ${at(0.95)} | ${at(1)} |`;
      expect(PAGE.split('\n')).toContain(line);
    });
  }
});

test('Of 1,000 good rollouts at most 1 % are rolled back, although each is judged after every one of its 2,000 jobs', {
  tags: ['long'],
}, () => {
  const random = new Random(15);
  const alarms: Alarm[] = [];
  for (let i = 0; i < 1000; i += 1) {
    const rate = random.pick([0.001, 0.01, 0.05, 0.2]);
    const alarm = simulateRollout(
      {
        fails: { stable: rate, canary: rate },
        // Up to 1.25 times is accepted.
        slowness: random.pick([1, 1.25]),
        spread: random.pick([0.1, 0.4, 1]),
        shares: random.pick([[0.01], [0.1], [0.5], [0.9], [0.1, 0.5, 0.9]]),
        jobs: 2000,
      },
      random,
    );
    if (alarm) alarms.push(alarm);
  }
  expect(alarms.length).toBeLessThanOrEqual(2 * FALSE_ALARM_RATE * 1000);
  expect(PAGE).toContain(`rolled back ${alarms.length} of 1,000`);
});

test('A good version with the larger or the smaller batches is rolled back in at most 1 % of 500 rollouts', {
  tags: ['long'],
}, () => {
  const random = new Random(22);
  const alarms: Alarm[] = [];
  for (let i = 0; i < 500; i += 1) {
    const shares = [random.pick([0.1, 0.3, 0.5, 0.7, 0.8, 0.9])];
    const rows = random.pick([2, 4, 8, 16]);
    const alarm = simulateRollout({ ...GOOD, spread: 0.1, shares, rows, jobs: 2000 }, random);
    if (alarm) alarms.push(alarm);
  }
  expect(alarms.length).toBeLessThanOrEqual(2 * FALSE_ALARM_RATE * 500);
});
