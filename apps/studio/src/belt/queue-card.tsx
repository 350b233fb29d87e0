/** One queue: its waiting line on the left, and to the right of it the belts of the workers that run it. */
import { texts } from '../texts/index.ts';
import type { Belt, Queue } from './belt-state.ts';
import { LaneBelt } from './lane-belt.tsx';

const CLASSES = ['interactive', 'standard', 'bulk'] as const;
/** Squares of one class. */
const SHOWN = 12;

export function QueueCard({ belt }: { readonly belt: Belt }) {
  const { model, size, task, waiting, lanes } = belt;
  const name = texts.belt.nameOf(model, size?.width, size?.height);
  return (
    <section class="card queue" aria-label={name}>
      <h2 class="queue-name">
        {name} <span class="queue-task">{texts.belt.tasks[task]}</span>
        {waiting?.paused && <span class="queue-paused">{texts.belt.paused}</span>}
      </h2>
      <div class="queue-body">
        <WaitingLine waiting={waiting} />
        <div class="queue-lanes">
          {lanes.map((lane) => (
            <LaneBelt key={lane.worker} lane={lane} showsWorker={lanes.length > 1} />
          ))}
          {lanes.length === 0 && (
            <div class="lane">
              <div class="lane-bed" data-empty={true}>
                <p class="lane-note">{texts.belt.noLane}</p>
              </div>
            </div>
          )}
        </div>
      </div>
    </section>
  );
}

function WaitingLine({ waiting }: { readonly waiting: Queue | undefined }) {
  const total = waiting ? waiting.jobs.interactive + waiting.jobs.standard + waiting.jobs.bulk : 0;
  return (
    <div class="line" data-empty={total === 0}>
      {total === 0 && <p class="line-none">{texts.belt.noneWaits}</p>}
      {waiting &&
        CLASSES.filter((name) => waiting.jobs[name] > 0).map((name) => (
          <ClassLine key={name} name={name} waiting={waiting} />
        ))}
    </div>
  );
}

function ClassLine({ name, waiting }: { readonly name: (typeof CLASSES)[number]; readonly waiting: Queue }) {
  const next = waiting.next.filter(({ priority }) => priority === name).slice(0, SHOWN);
  const more = waiting.jobs[name] - next.length;
  const label = texts.belt.classes[name];
  return (
    <div class="class-line">
      <p class="class-name">
        {label} <span>{waiting.jobs[name]}</span>
      </p>
      {/* Drawn from the right: the first in line is beside the belt. */}
      <div class="class-jobs" role="img" aria-label={texts.belt.waitingIn(label, waiting.jobs[name])}>
        {next.map(({ own }, index) => (
          <span key={index} class="waiter" data-own={own} data-class={name} />
        ))}
        {more > 0 && <span class="class-more">{texts.belt.more(more)}</span>}
      </div>
    </div>
  );
}
