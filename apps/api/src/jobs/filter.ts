/** The filter of lists and actions, as the list of jobs takes it. */
import type { JobFilter } from '@lehr/shared';
import type { ListQuery } from '@lehr/shared/records';

export const listFilterOf = ({
  created_after,
  created_before,
  ...same
}: JobFilter): Omit<ListQuery, 'limit' | 'cursor'> => ({
  ...same,
  after: msOf(created_after),
  before: msOf(created_before),
});

const msOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);
