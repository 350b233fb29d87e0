/**
 * One tenant attacks while another one works: the other one is always admitted and answered. How much slower it gets is measured by
 * `npm run lab -- noisy-tenants`, because the tests beside this one would distort the times.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenApiDocument, operationsOf } from '../../test/support/openapi.ts';
import { endJobs } from '../fuzz/leaks.ts';
import { startTarget, type Target } from '../fuzz/target.ts';
import { startAttacker } from './attacker.ts';
import { ATTACKS, DEAR_PICTURE } from './attacks.ts';
import { POLITE_REQUESTS } from './polite-requests.ts';
import { PoliteTenant } from './polite-tenant.ts';

let target: Target;
beforeAll(async () => {
  target = await startTarget({ limits: {}, holdS: 60, fetchesLocally: true });
}, 180_000);
afterAll(() => target?.close());

test('The polite tenant asks every operation of the OpenAPI document', async () => {
  const document = (await (await target.ask('', 'GET', '/openapi.json')).json()) as OpenApiDocument;
  const operations = operationsOf(document).map(({ name }) => name);
  expect(POLITE_REQUESTS.map(({ operation }) => operation).sort()).toEqual(operations.sort());
});

test('The picture that the attacks ask for is accepted, so that they attack more than the checks of a request', async () => {
  const body = { type: 'text-to-image', priority: 'bulk', input: DEAR_PICTURE };
  const { status } = await target.ask(target.attackerKey, 'POST', '/v1/jobs', body);
  await endJobs(target);
  expect(status).toBe(202);
});

/** One for each thing that attacks use up: time to parse, room for uploads, connections, held requests, device time, reads of Redis. */
const SHORT = [
  'hostile JSON bodies',
  'large uploads',
  'half-sent requests',
  'flood of long polls',
  'dear pictures of the most urgent class',
];

for (const name of Object.keys(ATTACKS)) {
  const tags = SHORT.includes(name) ? [] : ['long'];
  test(`A polite tenant is admitted and answered on every route beside a tenant with this attack: ${name}`, {
    tags,
    timeout: 240_000,
  }, async () => {
    const tenant = new PoliteTenant(target);
    await tenant.prepare();
    const attacker = await startAttacker(name, { port: target.port, key: target.attackerKey, scale: 0.1 });
    try {
      expect((await tenant.ask(1)).refused).toEqual([]);
    } finally {
      await attacker.stop();
      await endJobs(target);
    }
    expect(target.errors).toEqual([]);
  });
}
