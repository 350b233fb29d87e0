import { newLeaseToken, newWorkerId, systemClock } from '@lehr/shared';
import type { Repriced } from '@lehr/shared/queue';
import { expect, test } from 'vitest';
import { chargeAudio } from './charge.ts';
import type { JobRun } from './job-run.ts';

const run = (signal = new AbortController().signal): JobRun =>
  ({
    record: { queue: 'whisper.ears@1', payer: { budget_ms: 1000 } },
    lease: newLeaseToken(newWorkerId('test')),
    signal,
  }) as JobRun;

/** Charges with a Redis that answers with these, one after the other. */
function charging(...answers: (Repriced | Error)[]) {
  const reprice = async (): Promise<Repriced> => {
    const answer = answers.shift();
    if (answer === undefined || answer instanceof Error) throw answer;
    return answer;
  };
  const clock = { sleep: () => systemClock.sleep(1) };
  return { charge: chargeAudio({ repricer: { reprice }, clock, lanes: () => [] }), answers };
}

test('The charge of a job is made again until Redis is back', async () => {
  const { charge, answers } = charging(
    new Error('Command timed out'),
    new Error("READONLY You can't write against a read only replica."),
    { code: 'ok' },
  );
  await charge(run(), 60);
  expect(answers).toEqual([]);
});

test('The charge of a job that was stopped is not made again', async () => {
  const { charge, answers } = charging(new Error('Command timed out'), { code: 'ok' });
  await expect(charge(run(AbortSignal.abort()), 60)).rejects.toThrow('Command timed out');
  expect(answers).toHaveLength(1);
});

test('A job whose key owes more than it may is refused with the cost and the debt', async () => {
  const { charge } = charging({ code: 'refused', owedMs: 5000 });
  await expect(charge(run(), 60)).rejects.toMatchObject({
    code: 'rate-limited',
    message: expect.stringContaining('owes 5 for earlier jobs'),
  });
});
