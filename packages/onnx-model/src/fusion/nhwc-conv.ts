/**
 * A convolution of images becomes one of ONNX Runtime that reads and writes the channels of a pixel side by side, as tensor cores do:
 *
 *   x ────── Transpose ─┐
 *   weight ─ Transpose ─┼─ NhwcConv ── Transpose ── result
 *   bias ───────────────┘
 *
 * ONNX Runtime turns the weight once, when it opens the graph, and takes out Transposes between neighbours (channelsLast).
 */
import { ATTRIBUTE_TYPE, type NodeProto, toNumber } from '../schema.ts';
import { attribute } from './known-values.ts';
import type { Pattern, ReadGraph } from './read-graph.ts';
import { channelsFirst, channelsLast, fusedNode } from './replace-nodes.ts';

export const nhwcConvs: Pattern = (graph) =>
  graph
    .all('Conv')
    .filter((conv) => isKnown(graph, conv))
    .map((conv) => {
      const [x = '', weight = '', ...bias] = conv.input ?? [];
      const [result = ''] = conv.output ?? [];
      const name = `lehr.conv.${result}`;
      const inputs = [`${name}.x`, `${name}.weight`, ...bias];
      const kernel = graph.weight(weight)?.dims.slice(2) ?? [];
      const others = (conv.attribute ?? []).filter((each) => each.name !== 'kernel_shape');
      const nodes = [
        channelsLast(x, `${name}.x`),
        channelsLast(weight, `${name}.weight`),
        fusedNode(
          'NhwcConv',
          name,
          [inputs, [`${name}.result`]],
          [...others, { name: 'kernel_shape', type: ATTRIBUTE_TYPE.ints, ints: kernel }],
        ),
        channelsFirst(`${name}.result`, result),
      ];
      return { at: conv, nodes };
    });

/** Of images, with pads that are written down, and in one group: UNets and VAEs have no others. */
function isKnown(graph: ReadGraph, conv: NodeProto): boolean {
  const pads = attribute(conv, 'auto_pad')?.s;
  const group = attribute(conv, 'group');
  return (
    graph.weight(conv.input?.[1])?.dims.length === 4 &&
    (!pads?.length || Buffer.from(pads).toString() === 'NOTSET') &&
    (!group || toNumber(group.i) === 1)
  );
}
