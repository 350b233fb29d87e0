/** What went wrong, as the page shows it: a sentence, and the fields that it is about. */
import { LehrError } from '@lehr/client';
import { texts } from '../texts/index.ts';

export interface Fault {
  readonly message: string;
  /** By the name of the field in the request's input, such as `width`; of an entry of a list, by that of the list. */
  readonly fields: Readonly<Record<string, string>>;
}

export function faultOf(error: unknown): Fault {
  if (!(error instanceof LehrError)) return { message: texts.faults.unexpected, fields: {} };
  if (error.code === 'connection-failed') return { message: texts.faults.unreachable, fields: {} };
  const fields = Object.fromEntries(error.problems.map(({ pointer, detail }) => [fieldIn(pointer), detail]));
  const wait = error.retryAfterMs === undefined ? '' : ` ${texts.faults.again(error.retryAfterMs / 1000)}`;
  return { message: `${error.message}${wait}`, fields };
}

function fieldIn(pointer: string): string {
  const names = pointer.split('/');
  return names[names.findIndex((name) => /^\d+$/.test(name)) - 1] ?? names.at(-1) ?? '';
}
