/** What Lehr computes for a row between two runs of the UNet: the figures of `npm run lab -- bench host`. */
import { measure } from '../../bench/harness.ts';
import { figures } from '../../bench/host.bench.ts';
import type { Bench, Row } from '../section.ts';

const ROUNDS = 3;

/** The lowest of a few rounds each: a busy machine only adds to the CPU time of a step. */
export async function hostCost(bench: Bench): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const figure of figures) {
    const values: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) values.push((await measure(figure)).value);
    const value = Math.min(...values);
    const atMost = figure.target && 'atMost' in figure.target ? figure.target.atMost : undefined;
    bench.say(`${figure.name}: ${value.toFixed(3)} ms`);
    rows.push({
      what: `${figure.name.replace(/^host: /, '')}: CPU time, median of its steps, lowest of ${ROUNDS} rounds`,
      figure: value,
      unit: figure.unit,
      spread: [value, Math.max(...values)],
      ...(atMost !== undefined && { wanted: `<= ${atMost}`, met: value <= atMost }),
    });
  }
  return rows;
}
