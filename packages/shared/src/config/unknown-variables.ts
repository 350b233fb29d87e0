/** Finds misspelt variables, which no program reads and which would otherwise be ignored silently. */
import { editDistance } from '../base/edit-distance.ts';
import { ENV, OTHER_VARIABLES } from './env.ts';

const PREFIX = 'LEHR_';
/**
 * For each service X, Kubernetes sets variables in every container, and a Docker link does the same: X_SERVICE_HOST,
 * X_PORT=tcp://.., X_PORT_8080_TCP_ADDR. A service whose name begins with "lehr" must not be a fault.
 */
const SERVICE_LINK = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP)(_(ADDR|PORT|PROTO))?$/;
const LINK_ADDRESS = /^(tcp|udp):\/\//;
/** With more edits it is another word and not a misspelt one. */
const MAX_EDITS = 3;

/** One fault for each LEHR_ variable of `source` that no program reads. Its value may be a secret and is left out. */
export function unknownVariables(source: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...Object.keys(ENV), ...OTHER_VARIABLES];
  return Object.entries(source)
    .filter(([name, value]) => name.startsWith(PREFIX) && value && !known.includes(name))
    .filter(([name, value = '']) => !SERVICE_LINK.test(name) && !LINK_ADDRESS.test(value))
    .map(([name]) => {
      const closest = closestOf(name, known);
      const advice = closest ? `did you mean ${closest}?` : 'docs/settings.md lists those there are.';
      return `${name} is not a variable of Lehr: ${advice}`;
    });
}

/** Undefined when no name comes close: at most half of what follows LEHR_ may differ. */
function closestOf(name: string, known: readonly string[]): string | undefined {
  const allowed = Math.min(MAX_EDITS, (name.length - PREFIX.length) / 2);
  const [closest] = known
    .map((each) => ({ each, edits: editDistance(name, each) }))
    .filter(({ edits }) => edits <= allowed)
    .sort((a, b) => a.edits - b.edits);
  return closest?.each;
}
