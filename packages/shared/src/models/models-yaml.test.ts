import { expect, test } from 'vitest';
import { withoutVersion, withPart, withTuned, withVersion } from './models-yaml.ts';
import { parseRegistry } from './registry.ts';

const TEXT = `# our models
models:
  # drawn by everyone
  - name: sd15 # the classic
    task: diffusion
    versions: [{ version: 1, path: ./sd15 }]
`;
const WHISPER = {
  ref: { name: 'whisper', version: '1' },
  task: 'whisper',
  source: 'hf://acme/whisper',
} as const;
const SD2 = { ref: { name: 'sd15', version: '2' }, task: 'diffusion', source: 's3://models/sd15' } as const;

test('A new model is appended to models.yaml, and everything else stays as it was written', () => {
  const text = withVersion(TEXT, { ...WHISPER, revision: 'abc', variant: undefined });
  expect(text).toContain('# our models\nmodels:\n  # drawn by everyone\n  - name: sd15 # the classic\n');
  expect(text).toMatch(
    /\n {2}- name: whisper\n {4}task: whisper\n {4}versions:\n {6}- version: "1"\n {8}source: hf:\/\/acme\/whisper\n {8}revision: abc\n$/,
  );
});

test('A version is added to the model of its name, or replaces the one of its name', () => {
  const added = withVersion(TEXT, SD2);
  expect(parseRegistry(added).models[0].versions.map(({ version }) => version)).toEqual(['1', '2']);
  const replaced = withVersion(added, { ...SD2, ref: { name: 'sd15', version: '1' } });
  expect(parseRegistry(replaced).models[0].versions).toMatchObject([
    { version: '1', source: 's3://models/sd15' },
    { version: '2' },
  ]);
});

test('A new file begins with the model', () => {
  expect(withVersion('', WHISPER)).toBe(
    'models:\n  - name: whisper\n    task: whisper\n    versions:\n      - version: "1"\n        source: hf://acme/whisper\n',
  );
});

test('A name cannot get a version of another task', () => {
  const speech = { ...SD2, task: 'whisper' } as const;
  expect(() => withVersion(TEXT, speech)).toThrow(/sd15 is a model of the task diffusion/);
});

test('Removing a version removes its model with the last one, but not the last model', () => {
  const two = withVersion(withVersion(TEXT, SD2), WHISPER);
  const one = withoutVersion(withoutVersion(two, { name: 'sd15', version: '1' }), {
    name: 'sd15',
    version: '2',
  });
  expect(parseRegistry(one).models.map(({ name }) => name)).toEqual(['whisper']);
  expect(() => withoutVersion(one, WHISPER.ref)).toThrow('needs at least one');
  expect(() => withoutVersion(one, { name: 'sd15', version: '1' })).toThrow('has no sd15@1');
});

test('A version has a path or a source, and only a source has a revision and a variant', () => {
  const versioned = (fields: string): string =>
    `models: [{ name: a, task: whisper, versions: [{ version: "1", ${fields} }] }]`;
  expect(parseRegistry(versioned('source: hf://a/b, variant: fp16')).models[0].versions[0]).toMatchObject({
    source: 'hf://a/b',
  });
  for (const fields of ['weight: 1', 'path: a, source: hf://a/b', 'path: a, revision: main', 'source: a']) {
    expect(() => parseRegistry(versioned(fields)), fields).toThrow(
      /models\.0\.versions\.0\.(path|source|revision)/,
    );
  }
});

test('Tuned settings are written for one device, and comments and other devices stay', () => {
  const text = `models:
  - name: sd
    task: diffusion
    versions:
      # first
      - version: "1"
        path: sd
        tuned:
          cuda: { row_cap: 8 }
`;
  const settings = { threads: 2, optimization: 'basic' } as const;
  const changed = withTuned(text, { name: 'sd', version: '1' }, 'cpu', settings);
  expect(changed).toContain('# first\n');
  expect(parseRegistry(changed).models[0].versions[0].tuned).toEqual({ cuda: { row_cap: 8 }, cpu: settings });
  expect(() => withTuned(text, { name: 'sd', version: '2' }, 'cpu', settings)).toThrow('has no sd@2');
});

test('An adapter or a ControlNet is added to its model, once, and comments stay', () => {
  const text = `models:
  - name: sd
    task: diffusion
    # ours
    adapters: [{ name: ink, path: ink.safetensors }]
    versions: [{ version: "1", path: sd }]
`;
  const changed = withPart(text, 'sd', 'adapters', { name: 'neon', path: './adapters/neon.safetensors' });
  expect(changed).toContain('# ours\n');
  const controlled = withPart(changed, 'sd', 'controls', { name: 'edges', path: './exported/edges/1' });
  expect(parseRegistry(controlled).models[0]).toMatchObject({
    adapters: [{ name: 'ink' }, { name: 'neon' }],
    controls: [{ name: 'edges' }],
  });
  expect(() => withPart(changed, 'sd', 'adapters', { name: 'neon' })).toThrow('sd has "neon"');
  expect(() => withPart(changed, 'other', 'adapters', { name: 'neon' })).toThrow('has no other');
});
