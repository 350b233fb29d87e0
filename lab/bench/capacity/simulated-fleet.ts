/**
 * Many equal cards behind one queue, in virtual time: jobs wait in Lehr's fair order, and a card with a free row takes the next one
 * between two of its steps. Simpler than the benches of the policy: no engine, and no long sample pauses for a short one.
 */
import { FairQueue } from '../policy/fair-queue.ts';
import { MEAN_STEPS, type PolicyJob, poissonMix, ROWS } from '../policy/load.ts';
import { VirtualTime } from '../policy/virtual-time.ts';
import { type Card, msPerPicture } from './arithmetic.ts';

export interface FleetLoad {
  readonly card: Card;
  readonly cards: number;
  readonly rowCap: number;
  /** Share of what the cards can do with full calls. */
  readonly load: number;
  readonly jobs: number;
}

export interface FleetWaits {
  /** Latency over the job's time alone, one per job. */
  readonly slowdowns: readonly number[];
  readonly latenciesMs: readonly number[];
  readonly picturesPerHour: number;
}

interface Running {
  readonly job: PolicyJob;
  left: number;
}

const SEED = 1;

export function simulateCards({ card, cards, rowCap, load, jobs }: FleetLoad): FleetWaits {
  const perMs = (load * cards) / msPerPicture(card, { steps: MEAN_STEPS, rowsPerPicture: ROWS, rowCap });
  const time = new VirtualTime();
  const queue = new FairQueue<PolicyJob>();
  const idle: Running[][] = Array.from({ length: cards }, () => []);
  const ended: { readonly job: PolicyJob; readonly at: number }[] = [];
  const stepMs = (samples: number): number =>
    Math.max(card.floorMs, card.stepBaseMs + card.stepPerRowMs * ROWS * samples);
  const alone = ({ steps }: PolicyJob): number => card.textMs + steps * stepMs(1) + card.pictureMs;

  /** Takes jobs, makes a step and decodes what is done, until nothing is left to do. */
  const turn = (running: Running[]): void => {
    const taken = queue.claim(Math.max(0, rowCap / ROWS - running.length));
    for (const job of taken) running.push({ job, left: job.steps });
    if (running.length === 0) {
      idle.push(running);
      return;
    }
    const stepEnds = time.now() + taken.length * card.textMs + stepMs(running.length);
    time.at(stepEnds, () => {
      for (const each of running) each.left -= 1;
      const done = running.filter(({ left }) => left === 0);
      done.forEach(({ job }, i) => {
        ended.push({ job, at: stepEnds + (i + 1) * card.pictureMs });
      });
      const others = running.filter(({ left }) => left > 0);
      time.at(stepEnds + done.length * card.pictureMs, () => turn(others));
    });
  };
  for (const job of poissonMix(jobs, perMs, { seed: SEED, tenants: 1 }).reverse()) {
    time.at(job.arrivesAt, () => {
      queue.add(job, alone(job));
      const free = idle.pop();
      if (free) turn(free);
    });
  }
  while (time.skip()) {
    // Events make events.
  }
  const latenciesMs = ended.map(({ job, at }) => at - job.arrivesAt);
  return {
    latenciesMs,
    slowdowns: ended.map(({ job }, i) => latenciesMs[i] / alone(job)),
    picturesPerHour: (3_600_000 * ended.length) / ended.reduce((last, { at }) => Math.max(last, at), 0),
  };
}
