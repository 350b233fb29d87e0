import type { JobOutline } from '@lehr/shared/records';

/** A workflow is labelled with its type, because combinations of models would be too many series; its nodes with their models. */
export function metricLabels(record: JobOutline): { model: string; version: string } {
  if (record.workflow) return { model: record.type, version: '' };
  const [model, version] = record.model.split('@');
  return { model, version };
}
