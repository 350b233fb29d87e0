/** The option `--control NAME=FILE[:N]` of the commands that draw: pictures that guide the drawing. */
import type { Lehr, TextToImageInput } from '@lehr/client';
import { numberOf } from './command.ts';
import { usageError } from './exit-codes.ts';
import { MAX_INLINE_BYTES, mediaOf } from './media.ts';

interface WantedControl {
  readonly name: string;
  readonly source: string;
  readonly scale: number | undefined;
}

/** Checks the values at once; the returned function reads the files, which are in one request. */
export function controlInput(
  values: readonly string[] = [],
): (lehr: Lehr, signal: AbortSignal) => Promise<Pick<TextToImageInput, 'control'>> {
  const wanted = values.map(wantedOf);
  return async (lehr, signal) => {
    if (wanted.length === 0) return {};
    const control = [];
    for (const { name, source, scale } of wanted) {
      const image = await mediaOf(source, lehr, signal, MAX_INLINE_BYTES / (wanted.length + 1));
      control.push({ name, image, scale });
    }
    return { control };
  };
}

/** A path or a link may have a colon; a number after the last one is the scale. */
function wantedOf(text: string): WantedControl {
  const { name, source, scale } =
    /^(?<name>[^=]+)=(?<source>.+?)(?::(?<scale>\d*\.?\d+))?$/.exec(text)?.groups ?? {};
  if (name === undefined || source === undefined)
    throw usageError(`--control is ${JSON.stringify(text)}, expected NAME=FILE or NAME=FILE:0.8`);
  return { name, source, scale: numberOf('control', scale) };
}
