import { createMetrics, type TenantId } from '@lehr/shared';
import { expect, test } from 'vitest';
import { TenantUsage } from './tenant-usage.ts';

function usage(maxNamed: number) {
  const { metrics, page } = createMetrics('api');
  let now = 0;
  const counted = new TenantUsage({ metrics, maxNamed, clock: { monotonic: () => now } });
  return {
    count: (tenant: string, seconds: number) =>
      counted.count({ tenant: tenant as TenantId, cost: seconds * 1000 }),
    pass: (ms: number) => {
      now += ms;
    },
    /** Seconds by tenant, as a scrape shows them. */
    shown: async (): Promise<Record<string, number>> => {
      const lines = (await page.render()).matchAll(
        /^lehr_tenant_cost_seconds_total\{tenant="(\w+)"\} (\S+)$/gm,
      );
      return Object.fromEntries([...lines].map(([, tenant, seconds]) => [tenant, Number(seconds)]));
    },
  };
}

test('Without a number of tenants none is named, and the cost of all is one series', async () => {
  const { count, shown } = usage(0);
  count('ada', 2);
  count('bob', 3);
  expect(await shown()).toEqual({ _others: 5 });
});

test('Tenants are named until the number is reached; the rest are one series', async () => {
  const { count, shown } = usage(2);
  count('ada', 5);
  count('bob', 4);
  count('eve', 1);
  count('fay', 1);
  count('ada', 1);
  expect(await shown()).toEqual({ ada: 6, bob: 4, _others: 2 });
});

test('A tenant that costs clearly more takes the place of the one that cost least, and no series falls', async () => {
  const { count, shown } = usage(2);
  count('ada', 10);
  count('bob', 4);
  count('eve', 4.5);
  expect(await shown()).toEqual({ ada: 10, bob: 4, _others: 4.5 });
  count('eve', 3);
  expect(await shown()).toEqual({ ada: 10, eve: 3, _others: 4.5 });
  count('bob', 1);
  expect(await shown()).toEqual({ ada: 10, eve: 3, _others: 5.5 });
});

test('What a tenant cost hours ago does not keep its place', async () => {
  const { count, pass, shown } = usage(1);
  count('ada', 100);
  pass(10 * 3_600_000);
  count('bob', 1);
  expect(await shown()).toEqual({ bob: 1 });
});

test('A thousand tenants make no more series than were asked for', async () => {
  const { count, shown } = usage(3);
  for (let i = 0; i < 5_000; i += 1) count(`tenant${i}`, 1 + (i % 7));
  expect(Object.keys(await shown())).toHaveLength(4);
});
