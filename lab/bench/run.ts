/**
 * Runs one bench file in a separate process: measures its figures one by one, sends each of its rows and then its charts to the
 * suite. With `--quick`, a ratio has three rounds.
 */
import { pathToFileURL } from 'node:url';
import type { Chart } from './charts.ts';
import { type Figure, measure } from './harness.ts';

interface Bench {
  readonly figures?: readonly Figure[];
  /** Called after the figures; may use what they measured. */
  readonly charts?: () => Promise<readonly Chart[]> | readonly Chart[];
}

const QUICK_ROUNDS = 3;

const [file, ...flags] = process.argv.slice(2);
const { figures, charts } = (await import(pathToFileURL(file).href)) as Bench;
if (!figures) throw new Error(`${file} exports no figures.`);
const send = (message: object): Promise<unknown> =>
  new Promise((resolve) => (process.send ? process.send(message, resolve) : resolve(undefined)));
for (const [i, figure] of figures.entries()) {
  await send({ begins: figure.name, at: i + 1, of: figures.length });
  await send({ row: await measure(figure, flags.includes('--quick') ? { mostRounds: QUICK_ROUNDS } : {}) });
}
for (const chart of (await charts?.()) ?? []) await send({ chart });
// A handle that a figure left open must not keep this process running.
process.exit(0);
