import { expect, test } from 'vitest';
import { markWeightedPrompt, parseWeightedPrompt, takeAdapterTags } from './weighted-prompt.ts';

const parse = (prompt: string) => parseWeightedPrompt(prompt).map(({ text, weight }) => [text, weight]);

/** Of the web UI's own examples, beside its parser. */
const PUBLISHED: readonly [prompt: string, parts: readonly (readonly [string, number])[]][] = [
  ['normal text', [['normal text', 1]]],
  [
    'an (important) word',
    [
      ['an ', 1],
      ['important', 1.1],
      [' word', 1],
    ],
  ],
  ['(unbalanced', [['unbalanced', 1.1]]],
  ['\\(literal\\]', [['(literal]', 1]]],
  ['(unnecessary)(parens)', [['unnecessaryparens', 1.1]]],
  [
    'a (((house:1.3)) [on] a (hill:0.5), sun, (((sky))).',
    [
      ['a ', 1],
      ['house', 1.5730000000000004],
      [' ', 1.1],
      ['on', 1],
      [' a ', 1.1],
      ['hill', 0.55],
      [', sun, ', 1.1],
      ['sky', 1.4641000000000006],
      ['.', 1.1],
    ],
  ],
];

test.each(PUBLISHED)("The web UI's example %s gives its parts", (prompt, parts) => {
  expect(parse(prompt)).toEqual(parts);
});

test('An empty prompt is one empty part', () => {
  expect(parse('')).toEqual([['', 1]]);
  expect(parse('()')).toEqual([['', 1]]);
});

test('Brackets that close nothing, and weights outside of brackets, are text', () => {
  expect(parse('a) b] c:1.2) d')).toEqual([['a) b] c:1.2) d', 1]]);
  expect(parse('ratio 16:9, (a:b)')).toEqual([
    ['ratio 16:9, ', 1],
    ['a:b', 1.1],
  ]);
});

test('A weight that is no number is text in its bracket', () => {
  expect(parse('(a:1.2.3)')).toEqual([['a:1.2.3)', 1.1]]);
  expect(parse('(a:.5)(b:2.)(c:-1)')).toEqual([
    ['a', 0.5],
    ['b', 2],
    ['c', -1],
  ]);
});

test('A backslash before another character is dropped, and two are one', () => {
  expect(parse('a\\b \\\\ c')).toEqual([['ab \\ c', 1]]);
});

test('BREAK takes the blanks around it, and is a word inside of longer ones and of brackets', () => {
  const breaks = (prompt: string) => parseWeightedPrompt(prompt).filter(({ isBreak }) => isBreak).length;
  expect(parse('a BREAK b')).toEqual([
    ['a', 1],
    ['BREAK', -1],
    ['b', 1],
  ]);
  expect(breaks('a\nBREAK\nb, BREAK (c)')).toBe(2);
  expect(breaks('BREAKING, éBREAK, BREAK_ and break')).toBe(0);
  expect(breaks('(a BREAK b)')).toBe(0);
});

test('Brackets inside of a hundred others change no weight, so that thousands of them take no time', () => {
  const weightOf = (prompt: string) => parseWeightedPrompt(prompt).at(-1)?.weight;
  for (const close of ['', ')'.repeat(30_000)]) {
    expect(weightOf(`${'('.repeat(30_000)}a${close}`)).toBeCloseTo(1.1 ** 100, 6);
    expect(weightOf(`${'['.repeat(99)}a${close}`)).toBeCloseTo(1.1 ** -99, 6);
  }
});

test('A megabyte that was pasted by mistake is marked, however many pieces it has', () => {
  expect(markWeightedPrompt('BREAK '.repeat(170_000))).toHaveLength(170_000);
});

test('A long run of blanks takes no longer than as many letters', () => {
  const msOf = (prompt: string): number => {
    const startedAt = performance.now();
    parseWeightedPrompt(prompt);
    return performance.now() - startedAt;
  };
  msOf('warm up');
  for (const blank of [' ', '\n', '\u3000']) expect(msOf(blank.repeat(200_000))).toBeLessThan(2000);
  expect(parse(`a${' '.repeat(3)}BREAK${' '.repeat(3)}BREAK b`)).toEqual([
    ['a', 1],
    ['BREAK', -1],
    ['', 1],
    ['BREAK', -1],
    ['b', 1],
  ]);
});

test('Marks cover the whole prompt, and name the weight of each text in it', () => {
  const prompt = 'a (b:1.2) \\( BREAK [c]';
  const marks = markWeightedPrompt(prompt);
  expect(marks.map(({ from, to }) => prompt.slice(from, to)).join('')).toBe(prompt);
  expect(marks.map(({ from, to, weight }) => [prompt.slice(from, to), weight])).toEqual([
    ['a ', 1],
    ['(', undefined],
    ['b', 1.2],
    [':1.2)', undefined],
    [' ', 1],
    ['\\', undefined],
    ['(', 1],
    [' BREAK ', undefined],
    ['[', undefined],
    ['c', 1 / 1.1],
    [']', undefined],
  ]);
  expect(marks.filter(({ isBreak }) => isBreak)).toHaveLength(1);
});

test('Tags of adapters are taken out of a prompt, and every other character stays', () => {
  const { text, tags } = takeAdapterTags('a (cat <lora:ink:0.8>:1.2)<LoRA:old film>, <lora:x:-1.5>b');
  expect(text).toBe('a (cat :1.2), b');
  expect(tags).toMatchObject([
    { text: '<lora:ink:0.8>', from: 7, to: 21, name: 'ink', scale: 0.8 },
    { name: 'old film' },
    { name: 'x', scale: -1.5 },
  ]);
  expect(tags[1]).not.toHaveProperty('scale');
});

test.each(['a cat', '<lora:>', '<lora:ink', 'lora:ink:1>', '<hypernet:ink:1>', '<lora :ink>'])(
  'The prompt %j has no tag of an adapter',
  (prompt) => {
    expect(takeAdapterTags(prompt)).toEqual({ text: prompt, tags: [] });
  },
);

test.each([
  ['<lora:ink:0.5:0.7>', 'has two numbers'],
  ['<lora:ink:te=0.5>', 'has no number'],
  ['<lora:ink:>', 'has no number'],
  ['<lora:ink:1.2.3>', 'has no number'],
  ['<lora::1>', 'names no adapter'],
])('The tag %s has a fault: it %s', (prompt, fault) => {
  expect(takeAdapterTags(prompt).tags[0].fault).toContain(fault);
});

test('For people, a tag is a sign between the weighted texts, and the marks cover the whole prompt', () => {
  const prompt = '<lora:a>x (ca<lora:b:2>t:1.5) <lora:c><lora:d>';
  const marks = markWeightedPrompt(prompt);
  expect(marks.map(({ from, to }) => prompt.slice(from, to)).join('')).toBe(prompt);
  expect(marks.map(({ from, to, weight }) => [prompt.slice(from, to), weight])).toEqual([
    ['<lora:a>', undefined],
    ['x ', 1],
    ['(', undefined],
    ['ca', 1.5],
    ['<lora:b:2>', undefined],
    ['t', 1.5],
    [':1.5)', undefined],
    [' ', 1],
    ['<lora:c>', undefined],
    ['<lora:d>', undefined],
  ]);
});

test('A prompt of 32,000 characters of tags that never end is read in less than a second', () => {
  const startedAt = performance.now();
  expect(takeAdapterTags('<lora:'.repeat(5000)).tags).toEqual([]);
  expect(markWeightedPrompt('<lora:a>'.repeat(4000))).toHaveLength(4000);
  expect(performance.now() - startedAt).toBeLessThan(1000);
});
