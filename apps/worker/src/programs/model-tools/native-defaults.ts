/** The fields of a new diffusion model in models.yaml that follow from its configs: an API may run where its folder is not. */
import { FAMILY_TRAITS, readFamily } from '@lehr/shared';

/** The family, and what of this model differs from its family's defaults. */
export function nativeDefaults(folder: string): Record<string, unknown> {
  const detected = readFamily(folder);
  if (!detected) return {};
  const { family, guidance, side } = detected;
  const traits = FAMILY_TRAITS[family];
  const defaults = {
    ...(side !== undefined && side !== traits.defaults.width && { width: side, height: side }),
    // An LCM that takes no guidance scale, such as a merged LoRA, was distilled with it.
    ...(guidance === 'rows' && traits.guidance === 'embedded' && { guidance: 1 }),
  };
  return {
    family,
    ...(Object.keys(defaults).length > 0 && { defaults }),
    ...(side !== undefined &&
      side > traits.maxSide && { limits: { max_size: side, max_pixels: side * side } }),
  };
}
