import type { Job } from '@lehr/client';
import { texts } from '../texts/index.ts';

export function Status({ status }: Pick<Job, 'status'>) {
  return (
    <span class="status" data-status={status}>
      {texts.status[status]}
    </span>
  );
}
