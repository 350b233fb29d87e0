/** Fields of a job's input, as people read them. Pure. */
import type { BatchLine } from '@lehr/client';
import { titleOfTexts } from '../gallery/text-results.ts';

interface AdapterUse {
  readonly name: string;
  readonly scale: number;
}

interface ControlUse extends AdapterUse {
  readonly preprocess?: string;
  readonly start: number;
  readonly end: number;
}

export function settingText(name: string, value: unknown): string {
  if (name === 'adapters' && Array.isArray(value)) return value.map(adapterText).join(', ');
  if (name === 'control' && Array.isArray(value)) return value.map(controlText).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const adapterText = ({ name, scale }: AdapterUse): string => `${name} ${scale}`;

function controlText({ name, scale, preprocess, start, end }: ControlUse): string {
  const made = preprocess === undefined ? '' : ` of ${preprocess}`;
  const window = start === 0 && end === 1 ? '' : `, steps ${percent(start)} to ${percent(end)}`;
  return `${name}${made} ${scale}${window}`;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export type LineValue = readonly [name: string, text: string];

/**
 * For each line, in their order: of a sweep the value of each list, else the fields of its job that the lines have not in common. The API
 * does not say what a line without a job asks for.
 */
export function valuesOfLines(lines: readonly BatchLine[]): readonly (readonly LineValue[])[] {
  const fields = lines.map(fieldsOf);
  const known = fields.filter((each) => each !== undefined);
  const differs = (name: string) => new Set(known.map((each) => JSON.stringify(each[name]))).size > 1;
  const names = [...new Set(known.flatMap((each) => Object.keys(each)))].filter(differs);
  return lines.map(({ values }, i) => {
    const all = values ?? fields[i] ?? {};
    const shown = values ? Object.keys(values) : names.filter((name) => all[name] !== undefined);
    return shown.map((name) => [name.replaceAll('_', ' '), textOf(name, all[name])] as const);
  });
}

const fieldsOf = ({ job }: BatchLine): Readonly<Record<string, unknown>> | undefined =>
  job && { model: job.model, ...job.input };

const textOf = (name: string, value: unknown): string =>
  (name === 'texts' ? titleOfTexts({ input: { texts: value } }) : undefined) ?? settingText(name, value);
