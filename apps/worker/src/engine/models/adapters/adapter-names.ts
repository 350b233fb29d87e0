/**
 * The names that programs give the tensors of a LoRA. Each says a module of a part of the model, and whether the tensor is the first or the
 * second matrix of what is added there, or its factor:
 *
 *   kohya      lora_unet_down_blocks_0_attentions_0_..._attn1_to_q.lora_down.weight, and with SDXL lora_unet_input_blocks_4_1_...
 *   diffusers  unet.down_blocks.0.attentions.0...attn1.to_q.lora.down.weight, older ...attn1.processor.to_q_lora.down.weight
 *   PEFT       base_model.model.down_blocks.0.attentions.0...attn1.to_q.lora_A.weight
 *
 * In kohya's names nobody sees which underscores were dots, so modules of files and of graphs are compared with underscores alone.
 */
import { unetName } from '../weights/layouts.ts';

/** The graphs that an adapter may change. */
export type AdapterPart = 'unet' | 'text_encoder' | 'text_encoder_2';

export interface AdapterTensorName {
  readonly part: AdapterPart;
  /** As `moduleKey` gives it. */
  readonly module: string;
  readonly role: 'down' | 'up' | 'alpha';
}

/** What is not LoRA, by a piece of a tensor's name, and what to call it. */
const OTHERS: readonly (readonly [piece: RegExp, kind: string])[] = [
  [/[._](?:hada_[wt]\d)/, 'a LoHa'],
  [/[._](?:lokr_[wt]\d)/, 'a LoKr'],
  [/[._](?:dora_scale|lora_magnitude_vector)(?:[._]|$)/, 'a DoRA'],
  [/[._]b?oft_(?:diag|blocks|r|R|s)(?:[._]|$)/, 'an OFT'],
  [/[._](?:ia3_l|on_input)(?:[._]|$)/, 'an IA3'],
  [/\.lora_mid\.weight$/, 'a LoCon in three parts (Tucker, CP)'],
  [/\.(?:a1|a2|b1|b2)\.weight$/, 'a GLoRA'],
  [/\.(?:diff|diff_b)$/, 'made of differences of whole weights'],
  [/\.lora_(?:up|B)(?:\.[\w-]+)?\.bias$/, 'a LoRA with biases'],
];

/** What the file with this tensor is, when it is no LoRA that Lehr knows. */
export const otherKind = (name: string): string | undefined =>
  OTHERS.find(([piece]) => piece.test(name))?.[1];

const ROLES: readonly RegExp[] = [
  /^(?<module>.+)\.lora_(?<role>down|up|A|B)(?:\.(?!weight$)[\w-]+)?\.weight$/,
  /^(?<module>.+)\.lora(?:_linear_layer)?\.(?<role>down|up)\.weight$/,
  /^(?<module>.+)_lora\.(?<role>down|up)\.weight$/,
  /^(?<module>.+)\.(?<role>alpha)$/,
];

/** By the beginning of a name. Longer beginnings first. */
const PREFIXES: readonly (readonly [prefix: string, part: AdapterPart])[] = [
  ['lora_unet_', 'unet'],
  ['lora_te2_', 'text_encoder_2'],
  ['lora_te1_', 'text_encoder'],
  ['lora_te_', 'text_encoder'],
  ['lycoris_', 'unet'],
  ['model.diffusion_model.', 'unet'],
  ['diffusion_model.', 'unet'],
  ['unet.', 'unet'],
  ['text_encoder_2.', 'text_encoder_2'],
  ['text_encoder.', 'text_encoder'],
];

/** Undefined for a name of no layout. */
export function readTensorName(full: string, layersPerBlock: number): AdapterTensorName | undefined {
  const { module, role } = ROLES.map((each) => each.exec(full)?.groups).find((found) => found) ?? {};
  if (module === undefined) return undefined;
  const name = module.replace(/^base_model\.model\./, '');
  const [prefix, part] = PREFIXES.find(([each]) => name.startsWith(each)) ?? ['', partOf(name)];
  const inside = name.slice(prefix.length).replace('.processor.', '.');
  const own = part === 'unet' ? inDiffusers(inside, layersPerBlock) : inside;
  // Processors of older versions of diffusers leave the index out.
  const key = moduleKey(part, own).replace(/_to_out$/, '_to_out_0');
  return { part, module: key, role: ROLE_OF[role as keyof typeof ROLE_OF] };
}

/** PEFT calls the matrices A and B. */
const ROLE_OF = { A: 'down', B: 'up', down: 'down', up: 'up', alpha: 'alpha' } as const;

/** Of a file without prefixes, which holds one part. */
const partOf = (name: string): AdapterPart =>
  /^(?:text_model|encoder)[._]/.test(name) ? 'text_encoder' : 'unet';

const ORIGINAL =
  /^(input_blocks|output_blocks|middle_block|time_embed|label_emb|out)[._](\d+)(?:[._](\d+))?(?:[._](.+))?$/;

/** The module of a UNet with the name that diffusers gives it. */
function inDiffusers(name: string, layersPerBlock: number): string {
  const [, ...places] = ORIGINAL.exec(name) ?? [];
  if (places.length === 0) return name;
  const inside = places.pop()?.replace(/^(in_layers|emb_layers|out_layers)_(\d)$/, '$1.$2');
  const module = [...places, inside].filter((each) => each !== undefined).join('.');
  return unetName(`${module}.weight`, { layersPerBlock }).name.replace(/\.weight$/, '');
}

/** The outermost modules of a UNet. Exporters put the names of modules of their own in front. */
const UNET_ROOT =
  /(?:^|_)((?:down_blocks|up_blocks|mid_block|conv_in|conv_out|time_embedding|add_embedding)(?:_.*)?)$/;
const ENCODER_ROOT = /(?:^|_)((?:encoder_layers|text_projection)(?:_.*)?)$/;

/** The module of this path, however its dots are written, without what is in front of the part's own modules. */
export function moduleKey(part: AdapterPart, path: string): string {
  const written = path.replaceAll('.', '_');
  return (part === 'unet' ? UNET_ROOT : ENCODER_ROOT).exec(written)?.[1] ?? written;
}
