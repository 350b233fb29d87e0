/** The name and version that a new model gets in models.yaml. */
import { LehrError, type ModelRef, type Registry, SLUG } from '@lehr/shared';
import type { SourceFields } from '@lehr/shared/model-cache';

/** Without a version: the one that has this source already, else the next number. */
export function chooseRef(
  wanted: string,
  fields: SourceFields | undefined,
  registry: Registry | undefined,
): ModelRef {
  const [name, version, ...rest] = wanted.split('@');
  if (rest.length > 0 || !SLUG.test(name) || (version !== undefined && !SLUG.test(version))) {
    throw new LehrError(
      'invalid-request',
      `--as is ${JSON.stringify(wanted)}, expected name or name@version of lower-case letters, digits, ".", "_" and "-".`,
    );
  }
  if (version !== undefined) return { name, version };
  const versions = registry?.models.find((model) => model.name === name)?.versions ?? [];
  const same = versions.find(
    (each) =>
      fields &&
      each.source === fields.source &&
      each.revision === fields.revision &&
      each.variant === fields.variant,
  );
  const numbers = versions.map((each) => Number(each.version)).filter(Number.isInteger);
  return { name, version: same?.version ?? `${Math.max(0, ...numbers) + 1}` };
}
