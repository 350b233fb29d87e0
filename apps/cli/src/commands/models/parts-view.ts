/** The adapters and ControlNets of models as a table: what `lehr models list` knows of their files, and `lehr models check` of their models. */
import type { ListedPart } from '../../model-tools.ts';
import { bytesText, tableOf } from '../../table.ts';

/** Empty where there are none, else with an empty line before it. */
export const partsTable = (parts: readonly ListedPart[]): string =>
  parts.length === 0 ? '' : `\n${tableOf(HEAD, parts.map(rowOf))}`;

const HEAD = ['PART', 'OF', 'KIND', 'STATE', 'SIZE', 'RANK', 'PROBLEM OR PLACE'];
const KINDS = { adapter: 'adapter', control: 'ControlNet' } as const;

const rowOf = ({ name, model, kind, state, bytes, rank, problem, path }: ListedPart): string[] => [
  name,
  model,
  KINDS[kind],
  state,
  state === 'missing' ? '' : bytesText(bytes),
  rank === undefined ? '' : `${rank}`,
  problem?.replaceAll('\n', ' ') ?? path,
];
