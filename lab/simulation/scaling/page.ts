/** Writes the comparison into docs/scaling.md, between its marks, and its plot. */
import { readFile, writeFile } from 'node:fs/promises';
import { withPart } from '../../results.ts';
import type { Comparison, Row } from './compare.ts';
import { plot } from './plot.ts';

const PAGE = new URL('../../../docs/scaling.md', import.meta.url);
const PLOT = new URL('../../../docs/scaling/comparison.svg', import.meta.url);
const TARGET_S = 15;
/** Two waits that differ by less are the same: the simulation looks every 5 seconds. */
const SAME_SHARE = 1.05;
const SAME_S = 0.5;

export async function writePage(results: readonly Comparison[]): Promise<void> {
  await writeSection('comparison', table(results));
  await writeFile(PLOT, plot(results));
}

/** Replaces what stands between the marks of this name. */
export async function writeSection(name: string, text: string): Promise<void> {
  await writeFile(PAGE, withPart(await readFile(PAGE, 'utf8'), name, `${text}\n`));
}

export function table(results: readonly Comparison[]): string {
  const head = [
    '| Load, start | Lehr: worker seconds, p95 | KEDA, the cheapest with this p95 | KEDA, the best p95 at this cost | KEDA with a window of 60 s, the cheapest with this p95 | Static, the same p95 |',
    '| --- | --- | --- | --- | --- | --- |',
  ];
  return [...head, ...results.map(lineOf)].join('\n');
}

function lineOf({ curve, startS, rows }: Comparison): string {
  const lehr = rows.find(({ kind, setting }) => kind === 'lehr' && setting === TARGET_S);
  if (!lehr) throw new Error(`${curve.name} has no row of Lehr`);
  const cells = [
    `${curve.name}, ${startS} s`,
    `${two(lehr.cost)}, ${one(lehr.p95S)} s`,
    compared(cheapest(rows, 'keda', lehr), lehr, 'cost'),
    compared(fastest(rows, 'keda', lehr), lehr, 'p95S'),
    compared(cheapest(rows, 'keda-60', lehr), lehr, 'cost'),
    compared(cheapest(rows, 'static', lehr), lehr, 'cost'),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Of the settings whose p95 is at most Lehr's. */
export function cheapest(rows: readonly Row[], kind: Row['kind'], lehr: Row): Row | undefined {
  const allowed = Math.max(lehr.p95S * SAME_SHARE, lehr.p95S + SAME_S);
  return rows.filter((each) => each.kind === kind && each.p95S <= allowed).sort((a, b) => a.cost - b.cost)[0];
}

/** Of the settings that cost at most as much as Lehr. */
export function fastest(rows: readonly Row[], kind: Row['kind'], lehr: Row): Row | undefined {
  return rows
    .filter((each) => each.kind === kind && each.cost <= lehr.cost * SAME_SHARE)
    .sort((a, b) => a.p95S - b.p95S)[0];
}

/** The other row, and what Lehr is of it. */
function compared(other: Row | undefined, lehr: Row, by: 'cost' | 'p95S'): string {
  if (!other) return 'none';
  const name = other.kind === 'static' ? `${other.setting} at all times` : `${other.setting} a worker`;
  const share = two(lehr[by] / other[by]);
  return `${name}: ${two(other.cost)}, ${one(other.p95S)} s; Lehr is ${share} of the ${by === 'cost' ? 'cost' : 'wait'}`;
}

const one = (value: number): string => value.toFixed(1);
const two = (value: number): string => value.toFixed(2);
