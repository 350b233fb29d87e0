/** The card of what Lehr supports: for each kind of model, how many of the wanted results of these runs were met. */
import type { Row, SectionResults } from './section.ts';

interface Entry {
  readonly model: string;
  readonly forms: string;
  /** Their names differ between sections. */
  readonly comparisons: readonly string[];
  /** Only rows that begin with this. */
  readonly rows?: string;
}

const family = (model: string, name: string): Entry => ({
  model,
  forms: 'float32, float16; few channels',
  comparisons: [`family-${name}`],
});

const exported = (forms: string, rows: string): Entry => ({
  model: 'Whisper base, real weights',
  forms,
  comparisons: ['exports'],
  rows: `${rows}: `,
});

const ENTRIES: readonly Entry[] = [
  {
    model: 'Whisper base, real weights',
    forms: 'tokens, language, translation; float32',
    comparisons: ['tokens', 'translated-tokens', 'detected-language'],
  },
  exported('merged decoder, float32', 'merged'),
  exported('pair of decoders, float32', 'pair'),
  exported('with cross-attentions, float32', 'words'),
  exported('merged decoder, float16', 'fp16'),
  exported('pair of decoders, float16', 'fp16-pair'),
  exported('merged decoder, int8', 'int8'),
  exported('pair of decoders, int8', 'int8-pair'),
  {
    model: 'Whisper distil-large-v3, random weights',
    forms: 'float32, fp16; full size',
    comparisons: ['full-distil-large-v3-float32', 'full-distil-large-v3-fp16'],
  },
  {
    model: 'Whisper large-v3, random weights',
    forms: 'float32; full size',
    comparisons: ['full-large-v3-float32'],
  },
  {
    model: 'Stable Diffusion 1.5',
    forms: 'float32; full size',
    comparisons: ['opening', 'parity', 'step'],
  },
  {
    model: 'Stable Diffusion 2.1, velocity',
    forms: 'float32; half width',
    comparisons: ['velocity'],
  },
  { model: 'SDXL', forms: 'float32; three tenths of the width', comparisons: ['xl'] },
  {
    model: 'Stable Diffusion 1.5',
    forms: 'masks, weighted prompts, second passes; float32; full size',
    comparisons: ['masks', 'prompts', 'hires', 'nine-channels'],
  },
  {
    model: 'SDXL and its refiner',
    forms:
      'masks, weighted prompts, second passes, early ends; float32; three tenths and a third of the width',
    comparisons: ['xl-edits', 'xl-refiner'],
  },
  {
    model: 'Stable Diffusion 1.5',
    forms: 'LoRAs of rank 32 and a ControlNet, in shared runs; float32; full size',
    comparisons: ['adapters'],
  },
  {
    model: 'SDXL',
    forms: 'LoRAs of rank 32 and a ControlNet, in shared runs; float32; three tenths of the width',
    comparisons: ['xl-adapters'],
  },
  family('Stable Diffusion 1.5', 'sd15'),
  family('Stable Diffusion 2.1, velocity', 'sd21'),
  family('SD-Turbo', 'sd-turbo'),
  family('LCM', 'lcm'),
  family('SDXL', 'sdxl'),
  family('SDXL-Turbo', 'sdxl-turbo'),
  family('LCM of SDXL', 'sdxl-lcm'),
  {
    model: 'all-MiniLM-L6-v2, real weights',
    forms: 'embeddings; float32',
    comparisons: ['minilm'],
  },
  {
    model: 'BERT-base',
    forms: 'fill-mask, text-classification; float32; random weights',
    comparisons: ['bert-base'],
  },
];

/** An entry without results in these runs says so. */
export function supportCard(results: readonly SectionResults[]): string {
  const all = results.flatMap(({ comparisons }) => comparisons);
  const lines = ENTRIES.map((entry) => {
    const rows = all
      .filter(({ name }) => entry.comparisons.includes(name))
      .flatMap((comparison) => comparison.rows)
      .filter(({ what, wanted }) => wanted !== undefined && what.startsWith(entry.rows ?? ''));
    return `| ${entry.model} | ${entry.forms} | ${metOf(rows)} |`;
  });
  return `## What Lehr supports

Counted from the tables below: of the results that were wanted of a model (equal tokens or pictures, memory, speed), those that were met. What
is refused is in [Families](../docs/diffusion.md#what-is-refused).

| Model | Forms | Wanted results that were met |
| --- | --- | --- |
${lines.join('\n')}
`;
}

function metOf(rows: readonly Row[]): string {
  if (rows.length === 0) return 'not run';
  const missed = rows.filter(({ met }) => met === false);
  const names = missed.map(({ what, figure }) => `${what}: ${shortened(figure)}`);
  const text = `${rows.length - missed.length} of ${rows.length}`;
  return names.length === 0 ? text : `${text}; missed: ${names.join('; ')}`.replaceAll('|', '\\|');
}

const shortened = (figure: Row['figure']): string =>
  typeof figure === 'number' ? `${Number(figure.toPrecision(3))}` : figure;
