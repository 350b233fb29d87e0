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

/** Changes the graph in place, but not its branches. Returns how many nodes it wrote, by operator. */
export function fuseForCuda(stored: StoredModel): Record<string, number> {
  const written: Record<string, number> = {};
  for (const pattern of PATTERNS) {
    const replacements = pattern(new ReadGraph(stored));
    for (const { domain, opType = '' } of replacements.flatMap(({ nodes }) => nodes))
      if (domain === FUSED_DOMAIN && opType) written[opType] = (written[opType] ?? 0) + 1;
    if (replacements.length > 0) replaceNodes(stored, replacements);
  }
  return written;
}
