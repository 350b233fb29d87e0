/** Samplers by the names of the web UI, which names the sampler and the spacing of its steps apart: `DPM++ 2M` and `Karras`. */
import { type DiffusionModelEntry, LehrError, type SamplerName } from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';

interface WebUiSampler {
  readonly name: string;
  readonly aliases: readonly string[];
  /** `Automatic` is the first that the model offers. */
  readonly spacings: readonly (readonly [scheduler: string, sampler: SamplerName])[];
}

const AUTOMATIC = 'Automatic';

export const SAMPLERS: readonly WebUiSampler[] = [
  {
    name: 'DPM++ 2M',
    aliases: ['k_dpmpp_2m'],
    spacings: [
      ['Karras', 'dpmpp_2m_karras'],
      ['Uniform', 'dpmpp_2m'],
    ],
  },
  {
    name: 'DPM++ 2M SDE',
    aliases: ['k_dpmpp_2m_sde'],
    spacings: [['Karras', 'dpmpp_2m_sde_karras']],
  },
  { name: 'Euler a', aliases: ['k_euler_a', 'k_euler_ancestral'], spacings: [['Uniform', 'euler_a']] },
  { name: 'Euler', aliases: ['k_euler'], spacings: [['Uniform', 'euler']] },
  { name: 'DDIM', aliases: ['ddim'], spacings: [['Uniform', 'ddim']] },
  { name: 'PLMS', aliases: ['plms'], spacings: [['Uniform', 'pndm']] },
  { name: 'UniPC', aliases: ['unipc'], spacings: [['Uniform', 'unipc']] },
  { name: 'LCM', aliases: ['k_lcm'], spacings: [['Uniform', 'lcm']] },
];

export const SCHEDULERS = [AUTOMATIC, 'Uniform', 'Karras'] as const;

/** Older clients send both in one name: `DPM++ 2M Karras`. */
const COMBINED = /^(.*?)(?: (karras))?$/is;

/**
 * The sampler of Lehr. Undefined: the caller names none, and the model has its own. Throws `not-found` for an unknown sampler, as the web UI
 * does, and `invalid-input` for a spacing that it does not have.
 */
export function samplerOf(
  { samplers }: Pick<DiffusionModelEntry, 'samplers'>,
  wanted: string | undefined,
  scheduler: string | undefined,
): SamplerName | undefined {
  if (wanted === undefined || wanted === '') return undefined;
  const [, name = wanted, suffix] = COMBINED.exec(wanted) ?? [];
  const known = SAMPLERS.find((each) => [each.name, ...each.aliases].some((other) => same(other, name)));
  if (!known) {
    const names = SAMPLERS.map((each) => each.name).join(', ');
    throw new LehrError(
      'not-found',
      `Sampler not found: ${JSON.stringify(wanted.slice(0, 80))}. Known: ${names}.`,
    );
  }
  const { spacings } = known;
  const spacing = suffix ?? (scheduler || AUTOMATIC);
  if (same(spacing, AUTOMATIC)) {
    const [, offered] = spacings.find(([, sampler]) => samplers.includes(sampler)) ?? spacings[0];
    return offered;
  }
  const found = spacings.find(([each]) => same(each, spacing));
  if (found) return found[1];
  const allowed = [AUTOMATIC, ...spacings.map(([each]) => each)].join(', ');
  throw refusal('invalid-input', [
    { pointer: '/scheduler', detail: `must be one of: ${allowed} with ${known.name}` },
  ]);
}

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** The names that the web UI writes for a sampler of Lehr. */
export function webUiNames(sampler: SamplerName): { readonly name: string; readonly scheduler: string } {
  for (const { name, spacings } of SAMPLERS) {
    const [scheduler] = spacings.find(([, each]) => each === sampler) ?? [];
    if (scheduler !== undefined)
      return { name, scheduler: scheduler === 'Karras' || spacings.length > 1 ? scheduler : AUTOMATIC };
  }
  throw new Error(`The web UI has no name for the sampler ${sampler}. This is a bug in Lehr.`);
}
