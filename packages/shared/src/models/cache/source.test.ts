import { expect, test } from 'vitest';
import { parseSource, parseTyped, parseTypedFile, sourceFields, sourceFolder, sourceName } from './source.ts';

const typed = (text: string, revision?: string) => parseTyped(text, revision, '/here');

test('What a person types names a repository, a bucket, a web server or a folder', () => {
  const hub = { kind: 'hub', repo: 'openai/whisper-base', folder: '', revision: 'main' };
  expect(typed('openai/whisper-base')).toEqual(hub);
  expect(typed('hf://openai/whisper-base/onnx', 'v2')).toEqual({ ...hub, folder: 'onnx', revision: 'v2' });
  expect(typed('https://huggingface.co/openai/whisper-base')).toEqual(hub);
  expect(typed('https://huggingface.co/openai/whisper-base/tree/v2/onnx')).toEqual({
    ...hub,
    folder: 'onnx',
    revision: 'v2',
  });
  expect(typed('s3://models/sd15')).toEqual({ kind: 's3', bucket: 'models', prefix: 'sd15/' });
  expect(typed('https://files.example/sd15')).toEqual({ kind: 'https', url: 'https://files.example/sd15/' });
  expect(typed('./sd15')).toEqual({ kind: 'folder', path: '/here/sd15' });
  for (const path of ['/mnt/sd15', '/mnt//sd15/', 'file:///mnt//sd15/']) {
    expect(parseSource({ source: path })).toEqual({ kind: 'folder', path: '/mnt/sd15' });
  }
});

test('What names no source is refused with the forms that do', () => {
  for (const text of ['sd15', 'hf://acme', 's3://', 'ftp://host/x', 'hf://a/b/../c', 'file://host/x']) {
    expect(() => typed(text), text).toThrow(/is not a source of a model: .*Wanted: hf:\/\/owner\/name/);
  }
  expect(() => typed('s3://models/sd15', 'v2')).toThrow('only a hub repository has revisions');
});

test('A web address that may contain a secret is refused with a message that does not quote it', () => {
  const texts = [
    'https://user:secret@files.example/sd15',
    'https://secret@files.example/sd15/',
    'https://files.example/sd15?key=secret',
    'https://files.example/sd15/#secret',
    'https://user:secret@bad host/',
    'HTTPS://user:secret@files.example/',
    'https://huggingface.co/acme/model/tree/main?token=secret',
  ];
  for (const text of texts) {
    expect(() => typed(text), text).toThrow(/^The web address is not a source of a model: (?!.*secret)/);
  }
});

test('What a person types for a file of weights names its source and its name there, or a path', () => {
  const hub = { kind: 'hub', repo: 'acme/dreamy', folder: '', revision: 'main' };
  const [name, page] = ['v1.0.safetensors', 'https://huggingface.co/acme/dreamy'];
  for (const text of [`acme/dreamy/${name}`, `hf://acme/dreamy/${name}`, `${page}/blob/main/${name}`])
    expect(parseTypedFile(text, undefined), text).toEqual({ source: hub, name });
  expect(parseTypedFile(`${page}/resolve/v2/vae/${name}`, undefined)).toEqual({
    source: { ...hub, folder: 'vae', revision: 'v2' },
    name,
  });
  expect(parseTypedFile(`acme/dreamy/vae/${name}`, 'v2')?.source).toMatchObject({ revision: 'v2' });
  expect(parseTypedFile(`s3://models/a/${name}`, undefined)).toEqual({
    source: { kind: 's3', bucket: 'models', prefix: 'a/' },
    name,
  });
  expect(parseTypedFile('https://h/a/two%20words.safetensors', undefined)).toEqual({
    source: { kind: 'https', url: 'https://h/a/' },
    name: 'two words.safetensors',
  });
  for (const text of [name, `./a/b/${name}`, `../a/b/c/${name}`, `/a/b/${name}`, `a/${name}`])
    expect(parseTypedFile(text, undefined), text).toBeUndefined();
});

test('An address that is not that of a file of weights, or may contain a secret, is refused and not quoted', () => {
  for (const text of [
    'acme/dreamy/secret.ckpt',
    'https://h/secret.safetensors?key=secret',
    'https://h/secret.safetensors#secret',
    'https://h/?secret=a/b.safetensors',
    'https://user:secret@h/a.safetensors',
    'https://h/%secret.safetensors',
    's3://secret/',
  ])
    expect(() => parseTypedFile(text, undefined), text).toThrow(/^(?!.*secret)/);
  for (const text of ['hf://acme/a.safetensors', 's3://a.safetensors', 'https://a.safetensors'])
    expect(() => parseTypedFile(text, undefined), text).toThrow('is not a source of a model');
});

test('The fields of models.yaml name the same source again', () => {
  for (const text of [
    'openai/whisper-base',
    'hf://a/b/onnx',
    's3://models/sd15',
    '/mnt/sd15',
    'https://h/x',
  ]) {
    const source = typed(text);
    expect(parseSource(sourceFields(source))).toEqual(source);
  }
});

test('Each source, revision and variant has a separate folder, with a name that a person recognises', () => {
  const folders = [
    sourceFolder(typed('openai/whisper-base'), undefined),
    sourceFolder(typed('openai/whisper-base'), 'fp16'),
    sourceFolder(typed('openai/whisper-base', 'v2'), undefined),
    sourceFolder(typed('acme/whisper-base'), undefined),
  ];
  expect(new Set(folders).size).toBe(4);
  for (const folder of folders) expect(folder).toMatch(/^whisper-base-[0-9a-f]{12}$/);
  expect(sourceName(typed('s3://models/Stable Diffusion'))).toBe('stable-diffusion');
});
