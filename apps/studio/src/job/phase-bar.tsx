/** Where the time of a job went: one bar, and the same as a table. */
import type { JobMetrics } from '@lehr/client';
import { texts } from '../texts/index.ts';
import { type Phase, phasesOf } from './phases.ts';

/** Narrower parts are still seen. */
const MIN_PERCENT = 0.4;

export function PhaseBar({ metrics }: { readonly metrics: JobMetrics }) {
  const phases = phasesOf(metrics);
  return (
    <section class="card">
      <h2>{texts.job.timings}</h2>
      <div class="phases" aria-hidden="true">
        {phases.map(({ name, share }, index) => (
          <span
            key={name}
            class="phase"
            data-phase={index}
            title={labelOf(name)}
            style={{ flexGrow: Math.max(share * 100, MIN_PERCENT) }}
          />
        ))}
      </div>
      <table class="phase-table">
        <caption class="hidden">{texts.job.timings}</caption>
        <thead class="hidden">
          <tr>
            <th scope="col">{texts.job.tableHead.phase}</th>
            <th scope="col">{texts.job.tableHead.time}</th>
            <th scope="col">{texts.job.tableHead.share}</th>
          </tr>
        </thead>
        <tbody>
          {phases.map((phase, index) => (
            <Row key={phase.name} phase={phase} index={index} />
          ))}
        </tbody>
      </table>
      <p class="hint">{texts.job.total(metrics.total_ms)}</p>
    </section>
  );
}

function Row({ phase: { name, ms, share }, index }: { readonly phase: Phase; readonly index: number }) {
  return (
    <tr>
      <th scope="row">
        <span class="phase-key" data-phase={index} aria-hidden="true" />
        {labelOf(name)}
      </th>
      <td>{texts.job.ms(ms)}</td>
      <td>{`${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`}</td>
    </tr>
  );
}

const labelOf = (name: string): string =>
  (texts.job.phases as Readonly<Record<string, string>>)[name] ?? name;
