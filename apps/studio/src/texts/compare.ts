/** The sentences and labels of the comparison. */
import type { BatchEstimate } from '@lehr/client';

type Estimate = Pick<BatchEstimate, 'total' | 'priced' | 'device_s' | 'price' | 'currency' | 'refused'>;

export const compare = {
  title: 'Compare',
  lead: (max: number) =>
    `One prompt, two settings that vary, at most ${max} pictures. They are one batch, which you find again in Batches and schedules.`,
  axes: { steps: 'Steps', guidance: 'Guidance', sampler: 'Sampler', seed: 'Seed', version: 'Version' },
  across: 'Across',
  down: 'Down',
  valuesAcross: 'Values across',
  valuesDown: 'Values down',
  valuesHint: (choices: readonly string[]) =>
    choices.length > 0 ? `Of ${choices.join(', ')}` : 'Numbers, separated by commas',
  width: 'Width',
  height: 'Height',
  button: (count: number) => (count === 1 ? 'Make 1 picture' : `Make ${count} pictures`),
  estimate: ({ total, priced, device_s, price, currency, refused }: Estimate) => {
    const pictures = total === 1 ? '1 picture' : `${total} pictures`;
    const cost = price === undefined ? '' : `, ${price} ${currency ?? ''}`.trimEnd();
    const some = refused === 0 ? '' : `; the model refuses ${refused === priced ? 'them' : 'some of them'}`;
    return `${pictures}, about ${Math.max(1, Math.round(device_s))} s of one device${cost}${some}`;
  },
  batch: 'Page of the batch',
  cancel: 'Cancel all',
  canceling: 'Canceling …',
  problems: {
    prompt: 'Write a prompt.',
    'same-axis': 'Choose two different settings.',
    'no-values': 'Both directions need at least one value.',
    'not-numbers': 'The values of this setting are numbers.',
  },
  tooMany: (count: number, max: number) => `${count} pictures are too many: at most ${max}.`,
  export: 'Save as one picture',
  exportFailed: 'The pictures could not be read. Their links may have expired: make them again.',
  fileName: 'lehr-comparison.png',
  done: (done: number, all: number) => `${done} of ${all} done`,
  grid: (prompt: string) => `Comparison of: ${prompt}`,
  cell: (x: string, y: string) => `${x}, ${y}`,
  value: (axis: string, value: string) => `${axis} ${value}`,
  emptyTitle: 'Your grid appears here',
  emptyText: 'Choose what varies across and what varies down, and see what each setting does.',
} as const;
