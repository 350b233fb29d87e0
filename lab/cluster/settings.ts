/** What `npm run lab -- cluster` tells the suite. */
import { resolve } from 'node:path';

type Setting =
  | 'CLUSTER_FOLDER'
  | 'CLUSTER_PROGRAMS'
  | 'CLUSTER_DEFINITIONS'
  | 'CLUSTER_STAGES'
  | 'CLUSTER_IMAGES'
  | 'CLUSTER_TAG'
  | 'NODE_ADDRESS';

export function setting(name: Setting): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; run the suite with npm run lab -- cluster`);
  return value;
}

/** A name of what was built, or a path. */
export const programPath = (name: string): string => resolve(setting('CLUSTER_PROGRAMS'), name);
