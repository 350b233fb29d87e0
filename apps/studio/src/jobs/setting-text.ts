/** Fields of a job's input, as people read them. Pure. */
import type { BatchLine, Job } from '@lehr/client';
import { titleOfTexts } from '../gallery/text-results.ts';
import { texts } from '../texts/index.ts';

interface AdapterUse {
  readonly name: string;
  /** Absent in a request that leaves it to the model. */
  readonly scale?: number;
}

interface ControlUse {
  readonly name: string;
  readonly scale: number;
  readonly preprocess?: string;
  readonly start: number;
  readonly end: number;
}

export function settingText(name: string, value: unknown): string {
  if (name === 'adapters' && Array.isArray(value))
    return value.map(adapterText).join(', ') || texts.adapters.none;
  if (name === 'control' && Array.isArray(value)) return value.map(controlText).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const adapterText = ({ name, scale }: AdapterUse): string =>
  scale === undefined ? name : `${name} ${scale}`;

function controlText({ name, scale, preprocess, start, end }: ControlUse): string {
  const made = preprocess === undefined ? '' : ` of ${preprocess}`;
  const window = start === 0 && end === 1 ? '' : `, steps ${percent(start)} to ${percent(end)}`;
  return `${name}${made} ${scale}${window}`;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export type LineValue = readonly [name: string, text: string];

/**
 * For each line, in their order: of a sweep the value of each list, else the fields that jobs of its type do not have in common. The API
 * does not say what a line without a job asks for.
 */
export function valuesOfLines(lines: readonly BatchLine[]): readonly (readonly LineValue[])[] {
  const jobs = lines.flatMap(({ job }) => job ?? []);
  const types = [...new Set(jobs.map(({ type }) => type))];
  const differing = new Map(
    types.map((type) => [type, namesThatDiffer(jobs.filter((job) => job.type === type))]),
  );
  return lines.map(({ values, job }) => {
    const shown = values ?? (job ? only(fieldsOf(job), differing.get(job.type)) : {});
    return Object.entries(shown).map(
      ([name, value]) => [name.replaceAll('_', ' '), textOf(name, value)] as const,
    );
  });
}

function namesThatDiffer(jobs: readonly Job[]): ReadonlySet<string> {
  const all = jobs.map(fieldsOf);
  const differs = (name: string): boolean => new Set(all.map((each) => JSON.stringify(each[name]))).size > 1;
  const names = new Set(all.flatMap((each) => Object.keys(each)));
  return new Set([...names].filter(differs));
}

const only = (fields: Readonly<Record<string, unknown>>, names: ReadonlySet<string> = new Set()) =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => names.has(name) && value !== null && value !== ''),
  );

const fieldsOf = ({ model, input }: Job): Readonly<Record<string, unknown>> => ({ model, ...input });

const textOf = (name: string, value: unknown): string =>
  (name === 'texts' ? titleOfTexts({ input: { texts: value } }) : undefined) ?? settingText(name, value);
