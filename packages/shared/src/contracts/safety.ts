/** What is done with pictures that a classifier finds unsafe. The operator decides: per model in models.yaml, and per API key. */
import { z } from 'zod';

/** From the least to the most strict. */
export const SAFETY_MODES = ['off', 'mark', 'blur', 'refuse'] as const;
export type SafetyMode = (typeof SAFETY_MODES)[number];

/** What the classifier says of one picture. */
export const SafetyVerdictSchema = z
  .object({
    flagged: z.boolean().meta({ description: 'Whether it was found unsafe.' }),
    label: z.string().meta({ description: 'The unsafe label with the highest score.' }),
    score: z.number(),
  })
  .meta({ id: 'SafetyVerdict' });
export type SafetyVerdict = z.output<typeof SafetyVerdictSchema>;

export interface SafetyRule {
  readonly mode: SafetyMode;
  /** Whether a key may have a less strict mode, too. */
  readonly keys: 'stricter' | 'any';
}

/** The mode of a job: that of the key where it has one and may, else that of the model. */
export function safetyModeOf({ mode, keys }: SafetyRule, ofKey: SafetyMode | null): SafetyMode {
  if (ofKey === null) return mode;
  const isStricter = SAFETY_MODES.indexOf(ofKey) >= SAFETY_MODES.indexOf(mode);
  return isStricter || keys === 'any' ? ofKey : mode;
}
