/**
 * The names that files give the weights of a model for pictures, as those that the modules of its export have. A file has the layout of the
 * first programs for Stable Diffusion (`model.diffusion_model.input_blocks...`) or that of diffusers, and holds a whole model or one part.
 */
import type { SafeTensor } from '@lehr/onnx-model';

/** One weight of a module: a tensor of the file, or a part of it. */
export interface NamedWeight {
  /** The folder of the part, such as `unet` or `vae`; empty for a model of one part. */
  readonly part: string;
  /** The path of its module and its own name: `down_blocks.0.resnets.0.conv1.weight`. */
  readonly name: string;
  readonly tensor: SafeTensor;
  /** Only this of several equal shares of its rows: the first program keeps the queries, keys and values of an attention together. */
  readonly share?: { readonly index: number; readonly of: number };
  /** The file has its rows as columns. */
  readonly isTransposed?: boolean;
}

/** As the file has it. */
export function shapeOf({ tensor: { shape }, share }: NamedWeight): readonly number[] {
  return share ? [shape[0] / share.of, ...shape.slice(1)] : shape;
}

/** What the configs of the base say of its modules. */
export interface Shapes {
  /** Residual layers of each block of the UNet. */
  readonly layersPerBlock: number;
  /** Levels of the VAE. */
  readonly vaeLevels: number;
  /** Whether the base has a second text encoder. */
  readonly hasSecondEncoder: boolean;
  /** Width of the first text encoder; undefined where there is none, as in a refiner. */
  readonly textWidth: number | undefined;
}

type Renamed = Pick<NamedWeight, 'name' | 'share' | 'isTransposed'>;
type Rename = (name: string, shapes: Shapes) => Renamed | readonly Renamed[] | undefined;

/** By the beginning of the names: the part of the model, and how the rest of a name is read. Longer beginnings first. */
const LAYOUTS: readonly (readonly [prefix: string, part: string, rename: Rename])[] = [
  ['model.diffusion_model.', 'unet', unetName],
  ['first_stage_model.', 'vae', vaeName],
  ['cond_stage_model.transformer.', 'text_encoder', clipName],
  ['cond_stage_model.model.', 'text_encoder', openClipName],
  ['conditioner.embedders.0.transformer.', 'text_encoder', clipName],
  ['conditioner.embedders.0.model.', 'text_encoder_2', openClipName],
  ['conditioner.embedders.1.model.', 'text_encoder_2', openClipName],
  ['unet.', 'unet', unetName],
  ['vae.', 'vae', vaeName],
  ['text_encoder.', 'text_encoder', clipName],
  ['text_encoder_2.', 'text_encoder_2', clipName],
];

/** A file of one part alone, by a beginning that no other part has. */
const ALONE: readonly (readonly [beginning: RegExp, part: string, rename: Rename])[] = [
  [/^(?:input_blocks|down_blocks)\./, 'unet', unetName],
  [/^(?:decoder\.(?:up|up_blocks|conv_in)|encoder\.(?:down|down_blocks|conv_in))\./, 'vae', vaeName],
  [/^(?:text_model\.)?(?:embeddings\.token_embedding|encoder\.layers)\./, 'text_encoder', clipName],
  [/^transformer\.resblocks\./, 'text_encoder', openClipName],
];

/** The weights of a file for a model for pictures, and the names of those that no layout knows. */
export function namedWeights(
  tensors: ReadonlyMap<string, SafeTensor>,
  shapes: Shapes,
): { readonly weights: readonly NamedWeight[]; readonly unknown: readonly string[] } {
  const names = [...tensors.keys()];
  const isWhole = LAYOUTS.some(([prefix]) => names.some((name) => name.startsWith(prefix)));
  const alone = isWhole ? undefined : ALONE.find(([beginning]) => names.some((name) => beginning.test(name)));
  const weights: NamedWeight[] = [];
  const unknown: string[] = [];
  for (const [full, tensor] of tensors) {
    const [prefix, part, rename] =
      LAYOUTS.find(([each]) => isWhole && full.startsWith(each)) ?? (alone ? ['', alone[1], alone[2]] : []);
    const renamed = rename?.(full.slice(prefix?.length), shapes);
    if (part === undefined || renamed === undefined) unknown.push(full);
    else for (const each of [renamed].flat()) weights.push({ part, tensor, ...each });
  }
  return { weights: alone ? inSecondEncoder(weights, shapes) : weights, unknown };
}

/** A text encoder alone says by its width which one it is. */
function inSecondEncoder(weights: readonly NamedWeight[], { hasSecondEncoder, textWidth }: Shapes) {
  const norm = weights.find(({ name }) => name.endsWith('final_layer_norm.weight'));
  if (!norm || !hasSecondEncoder || norm.tensor.shape[0] === textWidth) return weights;
  return weights.map((each) => ({ ...each, part: 'text_encoder_2' }));
}

const UNET_OUTER: ReadonlyMap<string, string> = new Map([
  ['time_embed.0', 'time_embedding.linear_1'],
  ['time_embed.2', 'time_embedding.linear_2'],
  ['label_emb.0.0', 'add_embedding.linear_1'],
  ['label_emb.0.2', 'add_embedding.linear_2'],
  ['input_blocks.0.0', 'conv_in'],
  ['out.0', 'conv_norm_out'],
  ['out.2', 'conv_out'],
]);
const UNET_MIDDLE = ['resnets.0', 'attentions.0', 'resnets.1'];
const RESNET: ReadonlyMap<string, string> = new Map([
  ['in_layers.0', 'norm1'],
  ['in_layers.2', 'conv1'],
  ['emb_layers.1', 'time_emb_proj'],
  ['out_layers.0', 'norm2'],
  ['out_layers.3', 'conv2'],
  ['skip_connection', 'conv_shortcut'],
]);

/** Attentions have the same names inside in both layouts. */
export function unetName(name: string, { layersPerBlock }: Pick<Shapes, 'layersPerBlock'>): Renamed {
  const [module, leaf] = splitLeaf(name);
  const outer = UNET_OUTER.get(module);
  if (outer !== undefined) return { name: `${outer}.${leaf}` };
  const middle = /^middle_block\.([012])\.(.+)$/.exec(module);
  if (middle)
    return { name: `mid_block.${UNET_MIDDLE[Number(middle[1])]}.${insideResnet(middle[2])}.${leaf}` };
  const found = /^(input|output)_blocks\.(\d+)\.(\d)\.(.+)$/.exec(module);
  if (!found) return { name };
  const [, side, at, place, inside] = found;
  const index = Number(at) - (side === 'input' ? 1 : 0);
  const [block, layer] = [Math.floor(index / (layersPerBlock + 1)), index % (layersPerBlock + 1)];
  if (inside === 'op') return { name: `down_blocks.${block}.downsamplers.0.conv.${leaf}` };
  if (inside === 'conv') return { name: `up_blocks.${block}.upsamplers.0.conv.${leaf}` };
  const kind = place === '0' ? 'resnets' : 'attentions';
  const direction = side === 'input' ? 'down' : 'up';
  return { name: `${direction}_blocks.${block}.${kind}.${layer}.${insideResnet(inside)}.${leaf}` };
}

const insideResnet = (module: string): string => RESNET.get(module) ?? module;

const splitLeaf = (name: string): readonly [module: string, leaf: string] => {
  const at = name.lastIndexOf('.');
  return [name.slice(0, Math.max(at, 0)), name.slice(at + 1)];
};

/** The attention of the first program, and that of older versions of diffusers. */
const VAE_ATTENTION: ReadonlyMap<string, string> = new Map([
  ['norm', 'group_norm'],
  ['q', 'to_q'],
  ['k', 'to_k'],
  ['v', 'to_v'],
  ['proj_out', 'to_out.0'],
  ['query', 'to_q'],
  ['key', 'to_k'],
  ['value', 'to_v'],
  ['proj_attn', 'to_out.0'],
]);

function vaeName(name: string, { vaeLevels }: Shapes): Renamed | undefined {
  // The training loss.
  if (name.startsWith('loss.')) return undefined;
  const mirrored = (level: string): number => vaeLevels - 1 - Number(level);
  return {
    name: name
      .replace('.nin_shortcut.', '.conv_shortcut.')
      .replace('.norm_out.', '.conv_norm_out.')
      .replace(/\.mid\.block_([12])\./, (_, block) => `.mid_block.resnets.${block - 1}.`)
      .replace(/\.mid\.attn_1\./, '.mid_block.attentions.0.')
      .replace(/\.attentions\.0\.(\w+)\.(\w+)$/, (_, module, leaf) => {
        return `.attentions.0.${VAE_ATTENTION.get(module) ?? module}.${leaf}`;
      })
      .replace(/\.down\.(\d)\.block\./, '.down_blocks.$1.resnets.')
      .replace(/\.down\.(\d)\.downsample\./, '.down_blocks.$1.downsamplers.0.')
      .replace(/\.up\.(\d)\.block\./, (_, level) => `.up_blocks.${mirrored(level)}.resnets.`)
      .replace(/\.up\.(\d)\.upsample\./, (_, level) => `.up_blocks.${mirrored(level)}.upsamplers.0.`),
  };
}

/** Some files leave the outermost module out. */
function clipName(name: string): Renamed {
  return { name: /^(?:embeddings|encoder|final_layer_norm)\./.test(name) ? `text_model.${name}` : name };
}

const OPEN_CLIP: ReadonlyMap<string, string> = new Map([
  ['token_embedding.weight', 'text_model.embeddings.token_embedding.weight'],
  ['positional_embedding', 'text_model.embeddings.position_embedding.weight'],
  ['ln_final.weight', 'text_model.final_layer_norm.weight'],
  ['ln_final.bias', 'text_model.final_layer_norm.bias'],
]);
const OPEN_CLIP_LAYER: ReadonlyMap<string, string> = new Map([
  ['ln_1', 'layer_norm1'],
  ['ln_2', 'layer_norm2'],
  ['mlp.c_fc', 'mlp.fc1'],
  ['mlp.c_proj', 'mlp.fc2'],
  ['attn.out_proj', 'self_attn.out_proj'],
]);

function openClipName(name: string): Renamed | readonly Renamed[] | undefined {
  const outer = OPEN_CLIP.get(name);
  if (outer !== undefined) return { name: outer };
  if (name === 'text_projection') return { name: 'text_projection.weight', isTransposed: true };
  const [, layer, inside] = /^transformer\.resblocks\.(\d+)\.(.+)$/.exec(name) ?? [];
  if (inside === undefined) return undefined;
  const module = `text_model.encoder.layers.${layer}`;
  const joined = /^attn\.in_proj_(weight|bias)$/.exec(inside);
  if (joined)
    return ['q', 'k', 'v'].map((each, index) => ({
      name: `${module}.self_attn.${each}_proj.${joined[1]}`,
      share: { index, of: 3 },
    }));
  const [own, leaf] = splitLeaf(inside);
  const ours = OPEN_CLIP_LAYER.get(own);
  return ours === undefined ? undefined : { name: `${module}.${ours}.${leaf}` };
}
