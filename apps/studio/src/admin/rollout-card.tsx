/** The versions of one model: their shares, how their jobs ended, what can be done, and what was done. */
import type { Rollout } from '@lehr/client';
import { type Column, Table } from '../parts/table.tsx';
import { texts } from '../texts/index.ts';
import { RolloutForm } from './rollout-form.tsx';
import { RolloutHistory } from './rollout-history.tsx';
import { canaryShare, type ModelVersions, onlyVersion } from './rollout-plan.ts';

const words = texts.rollouts;
/** An API of a later version may know more of them. */
const states: Readonly<Record<string, string>> = words.states;

interface RolloutCardProps {
  readonly model: ModelVersions;
  readonly rollout: Rollout | undefined;
  readonly onChanged: (rollout: Rollout) => void;
}

export function RolloutCard({ model, rollout, onChanged }: RolloutCardProps) {
  const id = `rollout-${model.name}`;
  return (
    <section class="card rollout" aria-labelledby={id}>
      <header class="rollout-head">
        <h2 id={id}>{words.title(model.name)}</h2>
        <span class="status" data-rollout={rollout?.state}>
          {rollout ? (states[rollout.state] ?? rollout.state) : words.noState}
        </span>
      </header>
      <p>{saying(rollout)}</p>
      {rollout && (
        <>
          <ShareBar rollout={rollout} />
          <Table
            caption={words.outcomes(model.name)}
            rows={sidesOf(rollout)}
            idOf={({ role }) => role}
            columns={COLUMNS}
          />
          {rollout.state === 'running' && <p class="hint">{evidenceOf(rollout)}</p>}
        </>
      )}
      <RolloutForm model={model} rollout={rollout} onChanged={onChanged} />
      {rollout && <RolloutHistory history={rollout.history} />}
    </section>
  );
}

function saying(rollout: Rollout | undefined): string {
  if (!rollout) return words.none;
  const only = onlyVersion(rollout);
  if (only !== undefined) return words.all(only);
  if (rollout.workers.canary === 0) return words.unserved(rollout.canary);
  return words.running(rollout.canary, rollout.weight, rollout.stable);
}

function evidenceOf({ canary, analysis: { evidence, limit, auto_rollback } }: Rollout): string {
  const { failures, slowness } = evidence;
  const found = words.evidence(canary, failures, slowness);
  return `${found} ${auto_rollback ? words.rollsBack(limit) : words.neverRollsBack}`;
}

/** The table has the same numbers. */
function ShareBar({ rollout }: { readonly rollout: Rollout }) {
  const canary = canaryShare(rollout);
  return (
    <div class="share-bar" aria-hidden="true">
      <span class="share-part" data-role="stable" style={{ flexGrow: 100 - canary }} />
      <span class="share-part" data-role="canary" style={{ flexGrow: canary }} />
    </div>
  );
}

interface Side {
  readonly role: 'stable' | 'canary';
  readonly version: string;
  /** Per cent of the callers. */
  readonly share: number;
  readonly workers: number;
  readonly outcomes: Rollout['outcomes']['stable'];
}

function sidesOf(rollout: Rollout): readonly Side[] {
  const canary = canaryShare(rollout);
  return (['stable', 'canary'] as const).map((role) => ({
    role,
    version: rollout[role],
    share: role === 'canary' ? canary : 100 - canary,
    workers: rollout.workers[role],
    outcomes: rollout.outcomes[role],
  }));
}

const COLUMNS: readonly Column<Side>[] = [
  {
    name: words.version,
    cell: ({ role, version }) => (
      <span class="side" data-role={role}>
        {version} <span class="hint">{words.roles[role]}</span>
      </span>
    ),
  },
  { name: words.share, cell: ({ share }) => words.weightOf(share), isNumber: true },
  { name: words.workers, cell: ({ workers }) => workers, isNumber: true },
  { name: words.jobs, cell: ({ outcomes }) => outcomes.jobs, isNumber: true },
  { name: words.failed, cell: ({ outcomes }) => <Failed {...outcomes} />, isNumber: true },
  {
    name: words.p95,
    cell: ({ outcomes: { p95 } }) => (p95 === null ? texts.admin.none : words.times(p95)),
    isNumber: true,
  },
];

function Failed({ failed, jobs, failures }: Side['outcomes']) {
  const codes = Object.entries(failures).map(([code, count]) => `${code} ${count}`);
  return (
    <span class="side-failed">
      {words.failedOf(failed, jobs)}
      {codes.length > 0 && <span class="hint">{codes.join(', ')}</span>}
    </span>
  );
}
