/** The limits of a key as the fields of a form, and back. Pure. */
import type { KeyChange, KeyLimits } from '@lehr/client';
import { texts } from '../texts/index.ts';

export type LimitName = keyof KeyLimits;
export type LimitFields = Readonly<Record<LimitName, string>>;

/** In the order of the form. */
export const LIMIT_NAMES = Object.keys(texts.admin.keys.field) as readonly LimitName[];

/** No limit is an empty field. */
export const fieldsOf = (limits: KeyLimits): LimitFields =>
  Object.fromEntries(LIMIT_NAMES.map((name) => [name, String(limits[name] ?? '')])) as LimitFields;

/** Of the fields that differ from the limits; undefined when none does. The API checks the values. */
export function changeOf(limits: KeyLimits, fields: LimitFields): KeyChange['limits'] {
  const before = fieldsOf(limits);
  const changed = LIMIT_NAMES.filter((name) => fields[name].trim() !== before[name]);
  if (changed.length === 0) return undefined;
  return Object.fromEntries(changed.map((name) => [name, valueFor(name, fields[name].trim())]));
}

function valueFor(name: LimitName, text: string): string | number | null {
  if (name === 'max_priority') return text;
  if (text === '') return null;
  return name === 'safety' ? text : Number(text);
}
