import type { JobRecord } from '@lehr/shared/records';

/** Labels stay few: a workflow counts by its type, its nodes count by their models. */
export function metricLabels(record: JobRecord): { model: string; version: string } {
  if (record.workflow) return { model: record.type, version: '' };
  const [model, version] = record.model.split('@');
  return { model, version };
}
