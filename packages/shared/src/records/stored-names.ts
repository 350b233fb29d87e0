/**
 * Redis keeps the older name of a workflow, "graph": in a record's `type` and field name, in the key `graphs` (redis/keys.ts) and
 * in the name of its queue (queue/workflow-runner.ts). Records of older versions stay readable, and processes of both versions
 * can run side by side during an upgrade.
 */
export const OLDER_NAME = 'graph';

/** Fields of a new record under their stored names. */
export function toStoredNames(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { workflow, ...others } = fields;
  if (workflow === undefined) return fields;
  return { ...others, type: toStoredType(fields.type), [OLDER_NAME]: workflow };
}

export const toStoredType = (type: string): string => (type === 'workflow' ? OLDER_NAME : type);

/** Fields of a stored record under the names that the code uses. */
export function fromStoredNames(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { [OLDER_NAME]: workflow, ...others } = fields;
  if (workflow === undefined) return fields;
  return { ...others, type: fields.type === OLDER_NAME ? 'workflow' : fields.type, workflow };
}
