/** The workers with their devices, models, states and last errors. */
import type { Activity } from '@lehr/client';
import { texts } from '../texts/index.ts';

type Worker = Activity['workers'][number];

export function Workers({ workers }: { readonly workers: readonly Worker[] }) {
  const { title, worker, device, models, state, lastError } = texts.belt.workers;
  return (
    <section class="card">
      <h2>{title}</h2>
      <table class="worker-table">
        <caption class="hidden">{title}</caption>
        <thead>
          <tr>
            {[worker, state, device, models, lastError].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {workers.map((each) => (
            <Row key={each.id} worker={each} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Row({ worker }: { readonly worker: Worker }) {
  const { id, state, devices, models, loading, can_load, unavailable, problem, last_error: error } = worker;
  const names = texts.belt.workers;
  return (
    <tr>
      <th scope="row">{id}</th>
      <td data-name={names.state}>
        <span class="worker-state" data-state={problem === null ? state : 'quarantined'}>
          {names.states[state]}
        </span>
        {problem !== null && <span class="fault">{problem}</span>}
      </td>
      <td data-name={names.device}>{devices.join(', ')}</td>
      <td data-name={names.models}>
        {models.join(', ')}
        {loading.length > 0 && <span>{names.loads(loading.join(', '))}</span>}
        {can_load.length > 0 && <span>{names.canLoad(can_load.join(', '))}</span>}
        {unavailable.length > 0 && <span class="fault">{names.cannotOpen(unavailable.join(', '))}</span>}
      </td>
      <td data-name={names.lastError}>
        {error ? names.errorAt(new Date(error.at).toLocaleTimeString(), error.message) : names.none}
      </td>
    </tr>
  );
}
