/** A process that fills the queues: `work` for each place of a range, many at once. */
import { GROUPS, openJobMaker, tenantAt } from './jobs.ts';

/** The jobs from place `from`, `step` apart, below `to`, until this process's clock passes `until`. */
export interface FillOrder {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly tenants: number;
  /** Of one tenant: served in the order of arrival, the first tenants would keep all others waiting. */
  readonly inARow: number;
  /** Unix ms. */
  readonly until: number;
}

const AT_ONCE = 200;

const maker = await openJobMaker(process.argv[2]);
process.on('message', (order: FillOrder) => {
  fill(order).then(
    (made) => process.send?.({ made }),
    (error) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: true });

async function fill({ from, to, step, tenants, inARow, until }: FillOrder): Promise<number> {
  let next = from;
  let made = 0;
  const one = async (): Promise<void> => {
    while (next < to && Date.now() < until) {
      const place = next;
      next += step;
      const tenant = tenantAt(Math.floor(place / inARow) % tenants);
      await maker.submit(tenant, GROUPS[place % GROUPS.length]);
      made += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return made;
}
