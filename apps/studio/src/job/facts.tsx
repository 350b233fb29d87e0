/** What a job was asked for, and where it ran. */
import type { Job } from '@lehr/client';
import { settingText } from '../jobs/setting-text.ts';
import { Clamped } from '../parts/clamped.tsx';
import { copy } from '../parts/toast.tsx';
import { texts } from '../texts/index.ts';

export function Facts({ job }: { readonly job: Job }) {
  const { metrics, model, attempt, created_at, input, id } = job;
  const facts: [name: string, value: string | undefined][] = [
    [texts.job.created, new Date(created_at).toLocaleString()],
    [texts.job.model, model],
    [texts.job.worker, metrics?.worker ?? undefined],
    [texts.job.attempts, String(attempt)],
    [texts.job.batch, batchOf(metrics?.batch_size)],
  ];
  const settings = Object.entries(input).filter(([, value]) => value !== '' && value !== null);
  return (
    <section class="card">
      <h2>{texts.job.input}</h2>
      <dl class="facts">
        {facts.map(([name, value]) => value !== undefined && <Fact key={name} name={name} value={value} />)}
        {settings.map(([name, value]) => (
          <Fact key={name} name={name.replaceAll('_', ' ')} value={settingText(name, value)} />
        ))}
      </dl>
      <button type="button" class="button button-small" onClick={() => copy(id, texts.copied)}>
        {texts.job.copyId}
      </button>
    </section>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Clamped lines={6}>
          <span>{value}</span>
        </Clamped>
      </dd>
    </div>
  );
}

const batchOf = (size: number | null | undefined): string | undefined =>
  typeof size === 'number' ? texts.job.batchOf(size) : undefined;
