/** What is done with the pictures of a job that are found unsafe, by its model and the key that makes it. */
import {
  LehrError,
  type ModelEntry,
  type SafetyMode,
  safetyModeOf,
  type TextToImageInput,
} from '@lehr/shared';

/** Nothing where pictures are not checked. Throws `forbidden` when the key wants them checked, and the model cannot have that. */
export function safetyFields(model: ModelEntry, ofKey: SafetyMode | null): Pick<TextToImageInput, 'safety'> {
  if (model.task !== 'diffusion') return {};
  if (!model.safety) {
    if (ofKey === null || ofKey === 'off') return {};
    throw new LehrError(
      'forbidden',
      `This key makes only pictures that are checked (safety: ${ofKey}), and the model ${model.name} has no safety in models.yaml.`,
    );
  }
  const mode = safetyModeOf(model.safety, ofKey);
  return mode === 'off' ? {} : { safety: mode };
}
