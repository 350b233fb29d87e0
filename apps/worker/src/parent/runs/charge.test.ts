import { newLeaseToken, newWorkerId, silentLog, systemClock } from '@lehr/shared';
import type { Repriced } from '@lehr/shared/queue';
import { describe, expect, test } from 'vitest';
import { chargeAudio, chargeTokens } from './charge.ts';
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

describe('charge tokens', () => {
  const QUEUE = 'text.minilm@1';
  const LANE = { queue: QUEUE, row_steps_per_s: 10_000 };

  const run = (cost: number): JobRun =>
    ({
      record: { queue: QUEUE, cost },
      lease: newLeaseToken(newWorkerId('test')),
      signal: new AbortController().signal,
    }) as JobRun;

  /** Charges with a Redis that answers with these, one after the other; `charged` are the costs and whether they may be refused. */
  function charging(...answers: (Repriced | Error)[]) {
    const charged: unknown[] = [];
    const reprice = async (...[, , cost, options]: unknown[]): Promise<Repriced> => {
      charged.push([cost, options]);
      const answer = answers.shift();
      if (answer === undefined || answer instanceof Error) throw answer;
      return answer;
    };
    const clock = { sleep: () => systemClock.sleep(1) };
    return {
      charge: chargeTokens({ repricer: { reprice }, clock, lanes: () => [LANE], log: silentLog }),
      charged,
    };
  }

  test('A text job is charged the tokens that the model read at the speed of its lane, whatever its key owes', async () => {
    const { charge, charged } = charging({ code: 'ok' });
    await charge(run(7), 5000);
    expect(charged).toEqual([[500, { isDone: true }]]);
  });

  test('A text job whose estimate was right needs no charge', async () => {
    const { charge, charged } = charging();
    await charge(run(500), 5000);
    expect(charged).toEqual([]);
  });

  test('The charge of a text job is made again until Redis is back', async () => {
    const { charge, charged } = charging(new Error('Command timed out'), { code: 'ok' });
    await charge(run(7), 5000);
    expect(charged).toHaveLength(2);
  });

  test('A text job that another attempt has ended is not charged, and its run goes on to learn that', async () => {
    const { charge } = charging({ code: 'stale' });
    await expect(charge(run(7), 5000)).resolves.toBeUndefined();
  });

  test('A text job whose charge Redis rejects goes on, because its work is done', async () => {
    const { charge, charged } = charging(new Error('ERR user_script: bad argument'), { code: 'ok' });
    await expect(charge(run(7), 5000)).resolves.toBeUndefined();
    expect(charged).toHaveLength(1);
  });
});
