import type { Progress } from '@lehr/shared';

const BAR_LENGTH = 20;

/** Progress as tqdm prints it, which Replicate's clients parse in `logs`: ` 50%|##########          | 10/20`. */
export function progressLine({ fraction, step, steps }: Progress): string {
  const percent = `${Math.floor(fraction * 100)}`.padStart(3);
  const bar = '#'.repeat(Math.round(fraction * BAR_LENGTH)).padEnd(BAR_LENGTH);
  return `${percent}%|${bar}| ${step}/${steps}\n`;
}
