import { chaosWorld, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

const SILENCE_MS = 4000;

faultRow(
  {
    row: 'F5',
    injected: 'a graph run never returns; an engine may be silent for 4 s (120 s by default)',
    promised: 'The engine is killed, the job that hangs fails, and the jobs beside it finish.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, webhook } = world;
    const fields = (index: number) => ({
      webhook,
      input: { steps: 20, prompt: index === 2 ? 'HANG' : 'a circle' },
    });
    const ids = await client.submitMany(4, fields);
    const worker = await world.worker({ latency: SLOW_STEPS, faulty: true, silenceMs: SILENCE_MS });
    const died = await worker.logged('engine died');
    if (!(died.exit as { hung: boolean }).hung) throw new Error('the engine was not found hanging');
    const bad = await client.ended(ids[2]);
    if (bad?.error?.code !== 'engine-crashed')
      throw new Error(`the hanging job is ${JSON.stringify(bad?.error)}`);
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.succeeded !== 3) throw new Error(`${verdict.succeeded} of 3 other jobs succeeded`);
    const kills = worker.lines.filter(({ msg }) => msg === 'engine died').length;
    const took = Date.parse(bad.finished_at ?? '') - Date.parse(bad.started_at ?? '');
    history.fault('over');
    return {
      seen: `the hanging job failed as engine-crashed, 3 of 3 others succeeded; ${kills} engines killed`,
      figures: { 'failed after': seconds(took) },
    };
  },
);
