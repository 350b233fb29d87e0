/** `npm run lab -- peers queue`: Lehr's queue beside Celery and plain BullMQ, with jobs that do nothing. */
import { join } from 'node:path';
import { percentile } from '../../bench/harness.ts';
import { interleaved, ratioRow, type Timed } from '../../real/peers/interleaved.ts';
import type { Bench, Row, Section } from '../../real/section.ts';
import { celerySide, nodeSide, type QueueSide, wholeSide } from './sides.ts';

const ENVIRONMENT = 'peers/celery';
const JOBS = 1500;
const ROUNDS = 4;

async function compare(bench: Bench): Promise<readonly Row[]> {
  const sides: QueueSide[] = [];
  try {
    sides.push(await nodeSide("Lehr's queue", 'lehr'));
    sides.push(await celerySide(bench, join(bench.cache, '..', ENVIRONMENT)));
    sides.push(await nodeSide('BullMQ', 'bullmq'));
    sides.push(await wholeSide());
    const cpu = new Map(sides.map((side) => [side, [] as Cpu[]]));
    const timed = await interleaved(sides, ROUNDS, async (side) => {
      const before = side.cpu();
      const ms = await side.run(JOBS);
      const after = Object.entries(side.cpu());
      cpu.get(side)?.push(after.map(([part, seconds]) => [part, ((seconds - before[part]) * 1000) / JOBS]));
      return (JOBS / ms) * 1000;
    });
    const [lehr, celery, bullmq, whole] = timed;
    const rate = (ours: Timed<QueueSide>, other: Timed<QueueSide>, target = {}): Row =>
      ratioRow(`${ours.side.name}, beside ${other.side.name}`, ours.values, other.values, {
        unit: 'jobs/s',
        ...target,
      });
    return [
      rate(lehr, celery, { atLeast: 5 }),
      rate(lehr, bullmq),
      rate(whole, celery),
      ...[...cpu].map(([{ name }, values]) => cpuRow(name, values.slice(1))),
    ];
  } finally {
    for (const side of sides.reverse()) await side.close();
  }
}

/** CPU ms per job of each part, in one round. */
type Cpu = readonly (readonly [part: string, ms: number])[];

function cpuRow(name: string, rounds: readonly Cpu[]): Row {
  const sums = rounds.map((parts) => parts.reduce((sum, [, ms]) => sum + ms, 0));
  const medians = rounds[0].map(([part], i) => {
    const ms = percentile(
      rounds.map((parts) => parts[i][1]),
      50,
    );
    return `${part} ${ms.toFixed(2)}`;
  });
  return {
    what: `CPU time of all processes per job, ${name}`,
    figure: percentile(sums, 50),
    unit: 'ms',
    spread: [Math.min(...sums), Math.max(...sums)],
    note: medians.join(', '),
  };
}

export const section: Section = {
  title: 'The queue',
  about: `One process submits ${JOBS} jobs and waits for the result of each; the time is from the first submission to the last result. The jobs do nothing.
Every side has its own Redis, whose log is written to disk every second.

* Lehr's queue: one producer, which admits, stores and queues each job as the API does for a request that it holds, without HTTP, and gets the
  ended record as a message; one worker, which claims under leases, writes start and end of each record, and closes the job. Admission, fair
  order between tenants, the record and its events are part of each job.
* Celery: one producer (\`delay\`, then \`join_native\`), one worker with a pool of 2 processes, with the settings that its documentation
  advises for many short tasks. A task is acknowledged when it starts, so it is lost when its worker dies.
* BullMQ: one producer (\`add\`, then \`waitUntilFinished\`), one worker with a concurrency of 64.
* All of Lehr by HTTP: \`POST /v1/jobs?wait=60\` of 64 connections, one API process and one worker with its engine. Its jobs do something:
  each embeds a short text with the demo model. The CPU time of the program that sends the requests is not counted.

The promises differ. A job of Lehr survives the death of its worker and ends once, and its record stays readable; it is stored and queued before
its producer gets an answer. A job of plain BullMQ survives its worker too; it has no admission, no order between tenants and no record. A task
of Celery is lost with its worker in this setting. With \`acks_late\` it would run again, and Celery would be slower.

What Lehr does for a job and plain BullMQ does not: the admission script, the script that writes the record, the one that places the job by its
fair score, and the scripts that start and end the record. BullMQ's own three (add, claim, complete) are in both. The CPU time by part is in the
table.`,
  environments: [
    {
      name: ENVIRONMENT,
      requirements: 'lab/peers/queue/requirements.txt',
      size: '10 MB, 40 MB on the disk',
    },
  ],
  comparisons: [{ name: 'no-op-jobs', title: `${JOBS} jobs that do nothing`, run: compare }],
};
