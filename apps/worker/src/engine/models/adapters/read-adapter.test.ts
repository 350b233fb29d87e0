import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { safetensorsHeader } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { expect, test } from 'vitest';
import { Random } from '../../../../../../test/support/random.ts';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { readAdapter } from './read-adapter.ts';
import { triggerWords } from './trigger-words.ts';

const ATTENTION = 'down_blocks.0.attentions.0.transformer_blocks.0.attn1';
const RANK = 4;

interface OwnTensor {
  readonly name: string;
  readonly shape: readonly number[];
}

/** The pair of one layer, with values that are all 0. */
const pairOf = (down: string, up: string, inputs = 8, outputs = 8): OwnTensor[] => [
  { name: down, shape: [RANK, inputs] },
  { name: up, shape: [outputs, RANK] },
];
const peftPair = (layer: string): OwnTensor[] => {
  const name = `base_model.model.${ATTENTION}.${layer}`;
  return pairOf(`${name}.lora_A.weight`, `${name}.lora_B.weight`);
};

function bytesOf(tensors: readonly OwnTensor[], metadata: Readonly<Record<string, string>> = {}): Buffer {
  const header = safetensorsHeader(
    tensors.map((each) => ({ ...each, dtype: 'F32' })),
    metadata,
  );
  const sizes = tensors.map(({ shape }) => shape.reduce((product, size) => product * size, 4));
  return Buffer.concat([header, Buffer.alloc(sizes.reduce((sum, size) => sum + size, 0))]);
}

/** Of the layers, in their order. */
function factorsOf(path: string): number[] {
  const { modules, close } = readAdapter(path, 2);
  close();
  return modules.map(({ factor }) => factor);
}

const messageOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof LehrError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return '';
};

/** Two layers, `to_q` and `add_q`, as PEFT writes them, with this adapter_config.json. */
async function peft(config?: string): Promise<string> {
  const folder = await tempFolder('peft');
  const path = join(folder, 'adapter_model.safetensors');
  writeFileSync(path, bytesOf(['to_q', 'add_q'].flatMap(peftPair)));
  if (config !== undefined) writeFileSync(join(folder, 'adapter_config.json'), config);
  return path;
}

/** Two layers, `to_q` and `add_q`, as diffusers writes them, with this field of the metadata. */
async function diffusers(config: string): Promise<string> {
  const path = join(await tempFolder('diffusers'), 'own.safetensors');
  const pairs = ['to_q', 'add_q'].flatMap((layer) => {
    const name = `unet.${ATTENTION}.${layer}`;
    return pairOf(`${name}.lora_A.weight`, `${name}.lora_B.weight`);
  });
  writeFileSync(path, bytesOf(pairs, { lora_adapter_metadata: config }));
  return path;
}

/** The same fields, as diffusers has them for each part of a model. */
const ofUnet = (fields: object): string =>
  JSON.stringify(Object.fromEntries(Object.entries(fields).map(([key, value]) => [`unet.${key}`, value])));

test.each<[what: string, fields: object, factors: readonly number[]]>([
  ['lora_alpha', { r: 4, lora_alpha: 8 }, [2, 2]],
  ['no lora_alpha, which PEFT takes for 8', { r: 4 }, [2, 2]],
  ['use_rslora', { lora_alpha: 8, use_rslora: true }, [4, 4]],
  ['alpha_pattern of one layer', { lora_alpha: 8, alpha_pattern: { [`${ATTENTION}.to_q`]: 2 } }, [0.5, 2]],
  ['alpha_pattern of a name', { lora_alpha: 8, alpha_pattern: { 'attn1.to_q': 2 } }, [0.5, 2]],
  // PEFT compares whole names between dots, and takes the first that fits.
  ['alpha_pattern of a part of a name', { lora_alpha: 8, alpha_pattern: { q: 2 } }, [2, 2]],
  ['two alpha_patterns', { lora_alpha: 8, alpha_pattern: { to_q: 4, 'attn1.to_q': 2 } }, [1, 2]],
  ['alpha_pattern and use_rslora', { alpha_pattern: { to_q: 2 }, use_rslora: true }, [1, 4]],
  [
    'rank_pattern, because each matrix has its rank',
    { r: 16, lora_alpha: 8, rank_pattern: { to_q: 4 } },
    [2, 2],
  ],
])('The strength of a LoRA with %s is as PEFT and diffusers have trained it', async (_, fields, factors) => {
  expect(factorsOf(await peft(JSON.stringify(fields)))).toEqual(factors);
  expect(factorsOf(await diffusers(ofUnet(fields)))).toEqual(factors);
});

test('Without a word about its strength, a LoRA acts as if alpha were its rank', async () => {
  expect(factorsOf(await peft())).toEqual([1, 1]);
  expect(factorsOf(await diffusers('{}'))).toEqual([1, 1]);
  expect(factorsOf(await diffusers('{"text_encoder.lora_alpha": 8}'))).toEqual([1, 1]);
});

test.each<[what: string, fields: object, why: string]>([
  ['a DoRA without its lengths', { use_dora: true }, 'is a DoRA; Lehr takes LoRA and LoCon'],
  ['an alpha that is no number', { lora_alpha: '8' }, 'has lora_alpha "8" in WHERE, expected a number'],
  [
    'a list for alpha_pattern',
    { alpha_pattern: [2] },
    'has alpha_pattern [2] in WHERE, expected names and numbers',
  ],
  [
    'an alpha_pattern of no number',
    { alpha_pattern: { to_q: null } },
    'has alpha_pattern {"to_q":null} in WHERE, expected names and numbers',
  ],
  [
    'a regular expression in alpha_pattern',
    { alpha_pattern: { '.*(a+)+$': 2 } },
    'has alpha_pattern {".*(a+)+$":2} in WHERE, expected names and numbers',
  ],
])('A file that describes %s is refused instead of drawing with another strength', async (_, fields, why) => {
  const refusal = (where: string) => `${why.replace('WHERE', where)}.`;
  expect(messageOf(() => factorsOf(''))).toContain('is not a file');
  const [own, beside] = [await diffusers(ofUnet(fields)), await peft(JSON.stringify(fields))];
  expect(messageOf(() => readAdapter(own, 2))).toBe(
    `invalid-request: own.safetensors ${refusal('its metadata')}`,
  );
  expect(messageOf(() => readAdapter(beside, 2))).toBe(
    `invalid-request: adapter_model.safetensors ${refusal('adapter_config.json')}`,
  );
});

test('A description of the strength that cannot be read is refused', async () => {
  expect(messageOf(() => readAdapter('/', 2))).toContain('is not a file');
  const cut = await peft('{"lora_alpha": 8');
  expect(messageOf(() => readAdapter(cut, 2))).toContain('has no JSON object in adapter_config.json');
  const own = await diffusers('[1]');
  expect(messageOf(() => readAdapter(own, 2))).toContain('has no JSON object in its metadata');
  const folder = await peft();
  mkdirSync(join(folder, '../adapter_config.json'));
  expect(messageOf(() => readAdapter(folder, 2))).toContain('has no JSON object in adapter_config.json');
});

test('A file with more layers than a call may have arguments is read', { tags: ['long'] }, async () => {
  const path = join(await tempFolder('many'), 'many.safetensors');
  const tensors = Array.from({ length: 150_000 }, (_, i) => [
    { name: `lora_unet_${i}.lora_down.weight`, shape: [1, 0] },
    { name: `lora_unet_${i}.lora_up.weight`, shape: [0, 1] },
  ]).flat();
  writeFileSync(path, bytesOf(tensors));
  expect(factorsOf(path)).toHaveLength(150_000);
});

test('Trigger words are found among more words than a call may have arguments', () => {
  const tags = Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`tag ${i}`, 2]));
  expect(triggerWords({ ss_tag_frequency: JSON.stringify({ '1_a': tags }) })).toHaveLength(4);
});

/** Names of every layout, and of other kinds. */
const PIECES = [
  'lora_unet_',
  'lora_te1_',
  'lora_te2_',
  'base_model.model.',
  'unet.',
  'text_encoder.',
  'down_blocks_0_attentions_0_',
  'down_blocks.0.attentions.0.',
  'input_blocks_4_1_',
  'input_blocks.99999999999999999999.1.',
  'output_blocks.0.2.conv',
  'middle_block.1.',
  'encoder_layers_0_self_attn_q_proj',
  'transformer_blocks.0.attn1.',
  'processor.',
  'to_out',
  'to_q_lora',
  '.lora_down',
  '.lora_up',
  '.lora_A',
  '.lora_B',
  '.lora.down',
  '.default',
  '.weight',
  '.alpha',
  '.bias',
  '.hada_w1_a',
  'constructor',
  '__proto__',
  '_',
  '.',
  '\n',
  '\u001b[2J',
  '\u2028',
  'é',
];
const TYPES = ['F32', 'F16', 'BF16', 'F64', 'I64', 'F8_E4M3', 'BOOL'] as const;
const CONFIGS = [
  '{}',
  '{"unet.lora_alpha":4,"unet.alpha_pattern":{"to_q":2}}',
  '{"unet.alpha_pattern":{"__proto__":2,"":1}}',
  '{"unet.lora_alpha":1e999}',
  '[[',
  'NaN',
];

test('A LoRA with any header and any names is read or refused in one short line, and nothing else happens', {
  timeout: 60_000,
}, async () => {
  const folder = await tempFolder('fuzz');
  const random = new Random(33);
  const below = (count: number): number => Math.floor(random.next() * count);
  const oneOf = <Each>(all: readonly Each[]): Each => all[below(all.length)];
  const nameOf = (): string => {
    const name = Array.from({ length: 1 + below(6) }, () => oneOf(PIECES)).join('');
    return below(50) === 0 ? name.repeat(2000) : name;
  };
  const outcomes = { read: 0, refused: 0 };
  for (let round = 0; round < 2000; round += 1) {
    const pairs = Array.from({ length: below(3) }, (): OwnTensor[] => {
      const [module, kind] = [nameOf(), below(2)];
      return pairOf(
        `${module}${['.lora_down', '.lora_A'][kind]}.weight`,
        `${module}${['.lora_up', '.lora_B'][kind]}.weight`,
        below(4),
      );
    }).flat();
    const others = Array.from({ length: below(3) }, () => ({
      name: nameOf(),
      shape: Array.from({ length: below(5) }, () => below(4)),
    }));
    const named = new Map([...pairs, ...others].map((each) => [each.name, each]));
    const metadata = { lora_adapter_metadata: oneOf(CONFIGS), ss_tag_frequency: oneOf(CONFIGS) };
    const bytes = bytesOf([...named.values()], below(2) === 0 ? metadata : {});
    const text = bytes
      .toString('latin1')
      .replace('"F32"', () => `"${below(4) === 0 ? oneOf(TYPES) : 'F32'}"`);
    const changed = below(3) === 0 ? Buffer.from(text, 'latin1') : bytes;
    for (let i = below(4) - 2; i > 0; i -= 1) changed[below(changed.length)] = below(256);
    const path = join(folder, `${round}.safetensors`);
    writeFileSync(path, below(8) === 0 ? changed.subarray(0, below(changed.length)) : changed);
    const refusal = messageOf(() => {
      const { modules, rank, close } = readAdapter(path, 2);
      close();
      expect(rank).toBe(RANK);
      for (const { down, up, factor } of modules) {
        expect([down.shape[0], up.shape[1]]).toEqual([RANK, RANK]);
        expect(factor).toSatisfy(Number.isFinite);
      }
    });
    outcomes[refusal === '' ? 'read' : 'refused'] += 1;
    if (refusal !== '') {
      expect(refusal).toMatch(new RegExp(`^invalid-request: ${basename(path)} [^\\p{Cc}\\u2028]+\\.$`, 'u'));
      expect(refusal.length).toBeLessThan(600);
    }
    rmSync(path);
  }
  expect(Math.min(outcomes.read, outcomes.refused)).toBeGreaterThan(200);
});

test('A name of a tensor that is as long as a header may be is read in no time', async () => {
  const path = join(await tempFolder('long'), 'long.safetensors');
  const name = `${'_down_blocks_lora.down.lora_up.'.repeat(30_000)}\n`;
  writeFileSync(path, bytesOf(pairOf(`${name}.lora_down.weight`, `${name}.lora_up.weight`)));
  expect(messageOf(() => readAdapter(path, 2)).length).toBeLessThan(600);
});
