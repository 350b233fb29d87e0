/** Rows that several sections make. */
import type { Row } from './section.ts';

/** How many of some results are equal to the other program's; all of them are wanted. */
export function equalRow(what: string, equal: readonly boolean[], note?: string): Row {
  const same = equal.filter(Boolean).length;
  const isMet = same === equal.length;
  return {
    what,
    figure: `${same} of ${equal.length} equal`,
    wanted: 'all',
    met: isMet,
    ...(note && !isMet && { note }),
  };
}

/** A figure with an upper limit. */
export function atMostRow(what: string, figure: number, limit: number, unit: string, note?: string): Row {
  const isMet = figure <= limit;
  return { what, figure, unit, wanted: `<= ${limit}`, met: isMet, ...(note && { note }) };
}
