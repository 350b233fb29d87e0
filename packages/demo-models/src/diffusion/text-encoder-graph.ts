import { type BuiltGraph, GraphBuilder } from '../graph-builder.ts';
import { SeededRandom } from '../seeded-random.ts';
import { attention, type LayerContext, layerNorm } from './layers.ts';
import type { TinyDiffusionPlan } from './plan.ts';

/** `input_ids [batch, tokens]` to `last_hidden_state [batch, tokens, embeddingDim]` and `pooler_output`. */
export function buildTextEncoder(plan: TinyDiffusionPlan): BuiltGraph {
  const graph = new GraphBuilder('text_encoder', plan.opset, plan.dtype);
  const context: LayerContext = { graph, random: new SeededRandom(plan.seed + 1) };
  const width = plan.embeddingDim;

  const ids = graph.input('input_ids', plan.tokenIdType, ['batch_size', 'sequence_length']);
  const embedded = graph.add('Add', [embedTokens(context, plan, ids), positions(context, plan, ids)]);
  const attended = attention(context, 'text_model.self_attn', embedded, embedded, width, width);
  const hidden = layerNorm(
    context,
    'text_model.final_layer_norm',
    graph.add('Add', [embedded, attended]),
    width,
  );

  graph.output('last_hidden_state', hidden, plan.dtype, ['batch_size', 'sequence_length', width]);
  const last = graph.add('Gather', [hidden, graph.ints(-1)], { axis: 1 });
  graph.output('pooler_output', last, plan.dtype, ['batch_size', width]);
  return graph.build(plan.externalDataFile);
}

function embedTokens({ graph, random }: LayerContext, plan: TinyDiffusionPlan, ids: string): string {
  const size = plan.vocabularySize * plan.embeddingDim;
  const table = graph.weight(
    'token_embedding.weight',
    [plan.vocabularySize, plan.embeddingDim],
    random.normals(size, 1),
  );
  return graph.add('Gather', [table, ids], { axis: 0 });
}

function positions({ graph, random }: LayerContext, plan: TinyDiffusionPlan, ids: string): string {
  const size = plan.tokens * plan.embeddingDim;
  const table = graph.weight(
    'position_embedding.weight',
    [plan.tokens, plan.embeddingDim],
    random.normals(size, 0.5),
  );
  const length = graph.add('Gather', [graph.add('Shape', [ids]), graph.ints([1])], { axis: 0 });
  return graph.add('Slice', [table, graph.ints([0]), length, graph.ints([0])]);
}
