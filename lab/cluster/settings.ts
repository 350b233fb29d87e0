/** What `npm run lab -- cluster` tells the suite. */
import { join } from 'node:path';

type Setting = 'CLUSTER_FOLDER' | 'CLUSTER_PROGRAMS' | 'CLUSTER_DEFINITIONS' | 'CLUSTER_STAGES';

export function setting(name: Setting): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; run the suite with npm run lab -- cluster`);
  return value;
}

export const programPath = (name: string): string => join(setting('CLUSTER_PROGRAMS'), name);
