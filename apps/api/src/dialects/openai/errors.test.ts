import { type FieldProblem, type JobId, LehrError } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import { expect, test } from 'vitest';
import { JobEndedError } from '../../jobs/requests/hold.ts';
import { openaiRefusal } from './errors.ts';

const failed = (problems?: FieldProblem[]): JobEndedError => {
  const error = {
    code: 'invalid-input',
    title: 'Invalid input',
    detail: 'input.timestamps: this model cannot time words.',
    retryable: false,
    problems,
  };
  return new JobEndedError('failed', { id: 'job_1' as JobId, state: 'failed', error } as JobRecord);
};

test('A field that a worker refuses is reported under the name it has in the OpenAI request', () => {
  const problems = [{ pointer: '/input/timestamps', detail: 'this model cannot time words' }];
  expect(openaiRefusal(failed(problems))).toMatchObject({
    status: 400,
    body: {
      error: {
        message: 'The job failed: timestamp_granularities[]: this model cannot time words.',
        type: 'invalid_request_error',
        param: 'timestamp_granularities[]',
        code: 'unsupported_value',
        job_id: 'job_1',
      },
    },
  });
});

test('A picture that was found unsafe is a refusal as OpenAI makes it, which its clients do not repeat', () => {
  const error = {
    code: 'unsafe-picture',
    title: 'The picture was refused',
    detail: 'The picture was found unsafe (nsfw, 0.98) and is not given out.',
    retryable: false,
  };
  const ended = new JobEndedError('failed', { id: 'job_1' as JobId, state: 'failed', error } as JobRecord);
  expect(openaiRefusal(ended)).toMatchObject({
    status: 400,
    body: {
      error: {
        type: 'invalid_request_error',
        code: 'content_policy_violation',
        param: null,
        job_id: 'job_1',
      },
    },
    headers: { 'x-should-retry': 'false' },
  });
});

test('A job that failed on its input without naming a field is a bad request without a param', () => {
  expect(openaiRefusal(failed())).toMatchObject({ status: 400, body: { error: { param: null } } });
});

test('The message of an internal error is not shown to a caller', () => {
  const { body } = openaiRefusal(new LehrError('internal', 'ECONNREFUSED 10.0.0.7'));
  expect(body.error.message).toBe('Something went wrong on our side.');
});
