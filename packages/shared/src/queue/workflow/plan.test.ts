import { expect, test } from 'vitest';
import { MAX_INLINE_TEXT_BYTES, MAX_TEXT_LENGTH } from '../../contracts/text.ts';
import { MAX_PROMPT_LENGTH } from '../../contracts/text-to-image.ts';
import { speechToImageNodes, type WorkflowNode } from '../../contracts/workflow.ts';
import { planWorkflow } from './plan.ts';
import { fillReferences, findReferences } from './references.ts';

const listen = (id: string): WorkflowNode => ({
  id,
  type: 'speech-to-text',
  input: { audio: 'https://x.example/a.wav' },
});
const draw = (id: string, prompt: string): WorkflowNode => ({ id, type: 'text-to-image', input: { prompt } });
const order = (nodes: readonly WorkflowNode[]): string[] =>
  planWorkflow(nodes).nodes.map(({ node }) => node.id);

test('Speech-to-image is planned as two nodes, transcription before drawing', () => {
  const nodes = speechToImageNodes({ audio: 'https://x.example/a.wav', width: 256 }, 'ears+brush');
  expect(planWorkflow(nodes)).toMatchObject({
    nodes: [
      { node: { id: 'transcribe', model: 'ears' }, after: [] },
      {
        node: { id: 'draw', model: 'brush', input: { prompt: '{{transcribe.text}}', width: 256 } },
        after: ['transcribe'],
      },
    ],
    problems: [],
  });
});

test('A node is planned after the nodes it refers to, in whatever order they are listed', () => {
  const nodes = [
    draw('both', '{{a.text}} and {{ b.text }}'),
    listen('a'),
    draw('one', '{{a.text}}'),
    listen('b'),
  ];
  const ran = order(nodes);
  expect(ran.indexOf('both')).toBeGreaterThan(Math.max(ran.indexOf('a'), ran.indexOf('b')));
  expect(ran.indexOf('one')).toBeGreaterThan(ran.indexOf('a'));
});

test('An unknown node, an unknown field and a repeated id are each reported with their pointer', () => {
  const { problems } = planWorkflow([listen('a'), draw('a', '{{ghost.text}} {{a.images}}')]);
  expect(problems).toEqual([
    { pointer: '/nodes/1/id', detail: 'a is the id of another node too' },
    { pointer: '/nodes/1/input/prompt', detail: 'refers to ghost, which is not a node of this workflow' },
    { pointer: '/nodes/1/input/prompt', detail: expect.stringContaining('offers') },
  ]);
});

test('A cycle is refused and its nodes are named, also a node that refers to itself', () => {
  const cycle: WorkflowNode[] = [
    { id: 'a', type: 'speech-to-text', input: { audio: 'https://x.example/a.wav', prompt: '{{b.text}}' } },
    { id: 'b', type: 'speech-to-text', input: { audio: 'https://x.example/b.wav', prompt: '{{a.text}}' } },
    listen('c'),
  ];
  expect(planWorkflow(cycle).problems.map(({ pointer }) => pointer)).toEqual(['/nodes/0', '/nodes/1']);
  const selfReference: WorkflowNode = {
    id: 'a',
    type: 'speech-to-text',
    input: { audio: 'x', prompt: '{{a.text}}' },
  };
  expect(planWorkflow([selfReference]).problems).toHaveLength(1);
});

test('A reference is refused in the audio field, so a transcript is never fetched as a URL', () => {
  const nodes: WorkflowNode[] = [
    listen('a'),
    { id: 'b', type: 'speech-to-text', input: { audio: '{{a.text}}' } },
  ];
  expect(planWorkflow(nodes).problems).toMatchObject([{ pointer: '/nodes/1/input/audio' }]);
});

const label = (texts: readonly (string | { text: string; pair: string })[]): WorkflowNode => ({
  id: 'label',
  type: 'text-classification',
  input: { texts: [...texts] },
});

test('A text node may refer to a transcript in its texts and pairs, and offers nothing itself', () => {
  const pair = { text: '{{a.text}}', pair: 'It is about music.' };
  expect(planWorkflow([label(['{{a.text}}', pair]), listen('a')])).toMatchObject({
    nodes: [{ node: { id: 'a' } }, { node: { id: 'label' }, after: ['a'] }],
    problems: [],
  });
  expect(planWorkflow([label(['a']), draw('d', '{{label.labels}}')]).problems).toEqual([
    {
      pointer: '/nodes/1/input/prompt',
      detail: 'refers to label.labels; a text-classification node offers nothing to refer to',
    },
  ]);
});

test('A text node with too many filled texts, or with so many that they leave the record, is refused', () => {
  const problemsOf = (texts: string[]) => planWorkflow([listen('a'), label(texts)]).problems;
  const filled = Array.from({ length: 8 }, () => '{{a.text}} {{a.language}}');
  const long = 'x'.repeat(40_000);
  expect(problemsOf(filled)).toEqual([]);
  expect(problemsOf([long])).toEqual([]);
  const pointer = '/nodes/1/input/texts';
  expect(problemsOf([...filled, '{{a.text}}'])).toEqual([
    { pointer, detail: 'refer to other nodes in 9 texts; at most 8 may' },
  ]);
  expect(problemsOf(['{{a.text}}', long])).toEqual([
    { pointer, detail: 'refer to other nodes, so they may have at most 32768 bytes of JSON' },
  ]);
});

test('References are filled in at any depth, and the inserted text is not searched again', () => {
  const input = {
    prompt: 'draw {{a.text}}',
    list: ['{{a.language}}', 3],
    deep: { again: '{{a.text}}{{a.text}}' },
  };
  const filled = fillReferences(input, (_, field) => (field === 'text' ? '{{b.text}} $& $1' : 'en'));
  expect(filled).toEqual({
    prompt: 'draw {{b.text}} $& $1',
    list: ['en', 3],
    deep: { again: '{{b.text}} $& $1{{b.text}} $& $1' },
  });
  expect(findReferences(input).map(({ pointer }) => pointer)).toEqual([
    '/prompt',
    '/list/0',
    '/deep/again',
    '/deep/again',
  ]);
});

test('Inserted text is cut so that a string stays within the longest allowed prompt', () => {
  const transcript = 'a long talk '.repeat(10_000);
  const { prompt } = fillReferences(
    { prompt: `{{a.text}} | ${'{{a.text}}'.repeat(3_000)}` },
    () => transcript,
  );
  expect(prompt).toHaveLength(MAX_PROMPT_LENGTH);
  expect(prompt.endsWith(' | ')).toBe(true);
  expect(fillReferences({ prompt: '{{a.text}} | {{b.text}}' }, (node) => node)).toEqual({ prompt: 'a | b' });
});

test('What is filled in leaves the JSON of a whole node below 32 kB, in whatever script and however many strings', () => {
  const transcript = '"\n語😀x'.repeat(20_000);
  for (const texts of [['{{a.text}}'], Array.from({ length: 8 }, (_, i) => `${i} {{a.text}} {{a.text}}`)]) {
    const filled = fillReferences({ texts, truncate: true }, () => transcript, MAX_TEXT_LENGTH);
    const bytes = Buffer.byteLength(JSON.stringify(filled));
    expect(bytes).toBeLessThanOrEqual(MAX_INLINE_TEXT_BYTES);
    expect(bytes).toBeGreaterThan(MAX_INLINE_TEXT_BYTES - 16);
    // Half of a surrogate pair would become another character.
    expect(Buffer.from(filled.texts.join()).toString()).toBe(filled.texts.join());
    const lengths = filled.texts.map((text) => text.length);
    expect(Math.min(...lengths)).toBeGreaterThan(0.9 * Math.max(...lengths));
  }
});

test('A posted text that is longer than what may be filled stays whole, and nothing is filled into its node', () => {
  const posted = '語'.repeat(20_000);
  expect(fillReferences({ prompt: `${posted}{{a.text}}` }, () => 'a talk')).toEqual({ prompt: posted });
});

const redraw = (id: string, image: string, prompt = 'x'): WorkflowNode => ({
  id,
  type: 'text-to-image',
  input: { prompt, image },
});

test('A picture node may begin at the picture of another node, which then runs first', () => {
  expect(planWorkflow([redraw('fine', ' {{ base.image }} '), draw('base', 'a circle')])).toMatchObject({
    nodes: [{ node: { id: 'base' } }, { node: { id: 'fine' }, after: ['base'] }],
    problems: [],
  });
  expect(planWorkflow([redraw('a', '{{a.image}}')]).problems).toHaveLength(1);
});

test.each([
  ['a text', '{{ears.text}}'],
  ['a picture and more', '{{base.image}}?x'],
  ['two pictures', '{{base.image}}{{base.image}}'],
])('A reference to %s is refused in the field for a picture', (_, image) => {
  const { problems } = planWorkflow([draw('base', 'x'), listen('ears'), redraw('fine', image)]);
  for (const { pointer } of problems) expect(pointer).toBe('/nodes/2/input/image');
  expect(problems.length).toBeGreaterThan(0);
});

test('A picture node may begin at the latent of a node that stops early, and of no other', () => {
  const base = (denoising_end?: number): WorkflowNode => ({
    id: 'base',
    type: 'text-to-image',
    input: { prompt: 'x', denoising_end },
  });
  const fine = redraw('fine', '{{base.latent}}');
  expect(planWorkflow([base(0.8), fine]).problems).toEqual([]);
  const detail = 'refers to base.latent; only a node with a denoising_end below 1 has one';
  for (const end of [undefined, 1])
    expect(planWorkflow([base(end), fine]).problems).toEqual([{ pointer: '/nodes/1/input/image', detail }]);
});

test('The mask of a picture node may be the picture of another node, and no latent', () => {
  const base: WorkflowNode = {
    id: 'base',
    type: 'text-to-image',
    input: { prompt: 'x', denoising_end: 0.8 },
  };
  const masked = (mask: string): WorkflowNode => ({
    id: 'masked',
    type: 'text-to-image',
    input: { prompt: 'x', image: 'https://x.example/a.png', mask },
  });
  const { nodes, problems } = planWorkflow([base, masked('{{base.image}}')]);
  expect(problems).toEqual([]);
  expect(nodes[1].after).toEqual(['base']);
  expect(planWorkflow([base, masked('{{base.latent}}')]).problems).toEqual([
    { pointer: '/nodes/1/input/mask', detail: 'refers to a latent, which only the field image takes' },
  ]);
});

test('A picture is refused where a text is wanted', () => {
  expect(planWorkflow([draw('base', 'x'), draw('d', '{{base.image}}')]).problems).toEqual([
    {
      pointer: '/nodes/1/input/prompt',
      detail: 'refers to a picture, which only the fields image and mask, and the image of a control, take',
    },
  ]);
});
