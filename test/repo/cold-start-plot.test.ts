/** The plot of the cold starts: drawn from measured parts, and the one in docs from the table beside it. */
import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import { type ColdBar, coldStartPlot } from '../../lab/bench/cold-start-plot.ts';
import { PARTS, type Parts } from '../../lab/bench/cold-starts.ts';
import { readText } from './readme.ts';

const parts = (times: readonly number[]): Parts =>
  Object.fromEntries(PARTS.map((part, i) => [part, times[i]])) as unknown as Parts;

/** What is read of an element of the picture. */
interface Piece {
  getAttribute(name: string): string | null;
}

/** The rows of the table in docs/scaling.md, in ms. */
function tabled(): ColdBar[] {
  const [, section] =
    /<!-- cold-start: begin -->\n([\s\S]*?)<!-- cold-start: end -->/.exec(readText('docs/scaling.md')) ?? [];
  const rows = (section ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2);
  return rows.map((line) => {
    const [name, ...cells] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { name, parts: parts(cells.map((cell) => Math.round(Number(cell) * 1000))) };
  });
}

test('A bar of the cold starts has one piece for each stage, as long as the stage took and where the one before ended', () => {
  const svg = coldStartPlot([
    { name: 'a & b, fetched', parts: parts([1000, 100, 400, 500, 300, 200, 2500, 500]) },
    { name: 'a & b, warm', parts: parts([500, 0, 0, 500, 0, 0, 1000, 0]) },
  ]);
  const { document } = parseHTML(svg);
  const pieces = [...document.querySelectorAll('rect[height="18"]')];
  const numbers = (piece: Piece): number[] =>
    ['x', 'y', 'width'].map((name) => Number(piece.getAttribute(name)));
  const [first, second] = [0, 1].map((i) => pieces.slice(7 * i, 7 * i + 7).map(numbers));
  expect(pieces.slice(0, 7).map((piece) => piece.getAttribute('class'))).toEqual(
    PARTS.filter((part) => part !== 'total'),
  );
  const msPerUnit = 1000 / first[0][2];
  const lengths = first.map(([, , width]) => Math.round((width * msPerUnit) / 10) * 10);
  expect(lengths).toEqual([1000, 100, 400, 500, 300, 200, 500]);
  for (const bar of [first, second])
    for (const [i, [x, , width]] of bar.slice(0, -1).entries())
      expect(x + width).toBeCloseTo(bar[i + 1][0], 1);
  expect(second[0][1]).toBeGreaterThan(first[0][1]);
  expect(second[0][2]).toBeCloseTo(first[0][2] / 2, 1);
  expect(svg).toContain('a &amp; b, fetched');
  expect(svg).toContain('prefers-color-scheme: dark');
});

test('The plot in docs/scaling shows the cold starts of the table in docs/scaling.md', () => {
  const shown = (svg: string): string[] => {
    const { document } = parseHTML(svg);
    return [...document.querySelectorAll('rect title')].map(({ textContent }) => textContent ?? '');
  };
  const bars = tabled();
  expect(bars.length).toBeGreaterThan(0);
  expect(shown(readText('docs/scaling/cold-start.svg'))).toEqual(shown(coldStartPlot(bars)));
});
