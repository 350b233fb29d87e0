/** Writes what ONNX Runtime has operators for on CUDA, and does not fuse by itself. */
import type { StoredModel } from '../stored-model.ts';
import { biasSplitGelus } from './bias-split-gelu.ts';
import { groupNorms } from './group-norm.ts';
import { nhwcConvs } from './nhwc-conv.ts';
import { ReadGraph } from './read-graph.ts';
import { FUSED_DOMAIN, replaceNodes } from './replace-nodes.ts';
import { residualSums } from './residual-sum.ts';

/** One after the other: group normalizations look for convolutions as they are in the file. */
const PATTERNS = [groupNorms, nhwcConvs, biasSplitGelus, residualSums];

/**
 * Changes the graph in place, but not its branches, and not where a node with a name in `left` would be written. Returns the names of the nodes that
 * it wrote, by operator. They are made of what the nodes make, so that each has the same name whatever is left.
 */
export function fuseForCuda(
  stored: StoredModel,
  left: ReadonlySet<string> = new Set(),
): Record<string, string[]> {
  const written: Record<string, string[]> = {};
  for (const pattern of PATTERNS) {
    const replacements = pattern(new ReadGraph(stored)).filter(
      ({ nodes }) => !nodes.some(({ name = '' }) => left.has(name ?? '')),
    );
    for (const { domain, opType, name } of replacements.flatMap(({ nodes }) => nodes))
      if (domain === FUSED_DOMAIN && opType && name) written[opType] = [...(written[opType] ?? []), name];
    if (replacements.length > 0) replaceNodes(stored, replacements);
  }
  return written;
}
