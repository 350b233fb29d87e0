/** lab/real-models.md, made from the results in lab/real/results. */
import { fileURLToPath } from 'node:url';
import { readResults, tableLine } from '../results.ts';
import { supportCard } from './card.ts';
import { type Cell, type Row, SECTIONS, type SectionResults } from './section.ts';

const RESULTS = new URL('./results/', import.meta.url);

const HEAD = `# Lehr beside other programs

<!-- made by npm run lab -- real from lab/real/results; do not edit -->

Each table compares Lehr with the programs that do the same work elsewhere, on the same weights and the same machine. Where both were
timed, their rounds alternate in one run unless a row says otherwise, and the figure is Lehr's median divided by that of the other
program; min .. max are the ratios of the rounds. Rows without a target are for information. Python and its packages are needed for these comparisons and never by Lehr.

\`npm run lab -- real\` runs everything; \`npm run lab -- real whisper peers\` runs some sections, \`--only NAME\` the comparisons with this in
their name, and \`--again\` repeats what is done. Virtual environments, weights and exported models are kept in \`~/.cache/lehr-real\`
(or in \`$REAL_CACHE\`), about 60 GB; what exports Whisper large-v3 takes about 21 GB of memory.
`;

export const readRealResults = (): SectionResults[] => readResultsIn(RESULTS, SECTIONS);

export const realPage = (results: readonly SectionResults[]): string =>
  pageOf(`${HEAD}\n${supportCard(results)}`, results);

/** The sections of these names that `folder` has results of. */
export function readResultsIn(folder: URL, names: readonly string[]): SectionResults[] {
  const kept = readResults<SectionResults>(fileURLToPath(folder));
  return names.flatMap((name) => kept.get(name) ?? []);
}

export const pageOf = (head: string, results: readonly SectionResults[]): string =>
  [head, ...results.map(sectionText)].join('\n');

function sectionText({ title, about, versions, comparisons }: SectionResults): string {
  const tables = comparisons.map(
    ({ title, rows, date, machine, load, seconds }) =>
      `### ${title}\n\n${table(rows)}\n\nRun on ${date} in ${seconds} s on ${machine}; load ${load.join(' to ')}.\n`,
  );
  const versionText = versions.length > 0 ? `Versions: ${versions.join(', ')}.\n\n` : '';
  return `## ${title}\n\n${about}\n\n${versionText}${tables.join('\n')}`;
}

function table(rows: readonly Row[]): string {
  const head =
    '| What | Lehr | Other | Figure | min .. max | Wanted |\n| --- | --- | --- | --- | --- | --- |';
  return [head, ...rows.map(line)].join('\n');
}

function line({ what, lehr, other, figure, unit, spread, wanted, met, note }: Row): string {
  const isPair = lehr !== undefined || other !== undefined;
  const cells = [
    note ? `${what} (${note})` : what,
    withUnit(lehr, unit),
    withUnit(other, unit),
    `**${isPair ? cellText(figure) : withUnit(figure, unit)}**`,
    spread ? spread.map(cellText).join(' .. ') : '',
    wanted === undefined ? '' : `${wanted}${met === false ? ', **missed**' : ''}`,
  ];
  return tableLine(cells);
}

const withUnit = (cell: Cell | undefined, unit = ''): string =>
  cell === undefined ? '' : `${cellText(cell)} ${unit}`.trim();

/** Three significant digits, never in powers of ten. */
function cellText(cell: Cell): string {
  if (typeof cell === 'string') return cell;
  const digits = Number(cell.toPrecision(3));
  if (Math.abs(digits) >= 1000) return Math.round(cell).toString();
  return Math.abs(digits) < 1e-5 && digits !== 0 ? digits.toExponential(1) : digits.toString();
}
