/** Requests for pictures with adapters and control pictures, in each form in which a client can name them. */
import fc from 'fast-check';
import type { FuzzRequest, Piece } from '../request.ts';
import { BEARER, delivery, headOf, JSON_TYPE, text } from './pieces.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Mostly what is accepted, so that jobs with several of them are made, too. */
const mostly = (good: fc.Arbitrary<unknown>, other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 8, arbitrary: good }, { weight: 1, arbitrary: other });

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const wrongName = fc.constantFrom('nowhere', 'Edges [d14c016b]', '__proto__', '', 'x'.repeat(300));
const adapter = mostly(fc.constantFrom('ink', 'film'), wrongName);
const net = mostly(fc.constant('edges'), wrongName);
const number = mostly(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.constantFrom<unknown>(-0.5, 2.5, -0, 1e308, -1e-320, 11, '1', null),
);
const image = mostly(
  fc.constantFrom(`data:image/png;base64,${PNG}`, 'http://app.example/a.png'),
  fc.constantFrom<unknown>(
    `data:image/png;base64,${PNG.slice(0, 20)}`,
    'data:image/png;base64,',
    `data:;reference=0;sha256=${'A'.repeat(43)},`,
    'data:;reference=999;sha256=x,',
    '__file__',
    'http://127.0.0.1:1/a.png',
    '{{a.image}}',
    PNG,
    [PNG, ''],
    { image: PNG, mask: '' },
    '',
    null,
    7,
  ),
);
const preprocess = mostly(
  fc.constantFrom('none', 'canny'),
  fc.constantFrom('Canny', 'marks', 'tiny@1', '__proto__', '', null),
);

/** A record that mostly has its required fields, has some of the others, and sometimes has an unknown one. */
const some = (required: Fields, others: Fields): fc.Arbitrary<object> =>
  fc
    .record({
      given: fc.record(required, { requiredKeys: [] }),
      all: fc.record(required),
      more: fc.record(others, { requiredKeys: [] }),
      isWhole: fc.integer({ max: 9, min: 0 }).map((roll) => roll > 0),
      unknown: fc.constantFrom<object>({}, {}, {}, {}, {}, {}, { new_field: null }, { new_field: 1 }),
    })
    .map(({ given, all, more, isWhole, unknown }) => ({ ...(isWhole ? all : given), ...more, ...unknown }));

const listOf = (each: fc.Arbitrary<unknown>, most: number): fc.Arbitrary<unknown[]> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.array(each, { minLength: 1, maxLength: 2 }) },
    { weight: 1, arbitrary: fc.array(each, { maxLength: most }) },
  );

const adapters = listOf(some({ name: adapter }, { scale: number }), 12);
const control = listOf(
  some({ name: net, image }, { scale: number, start: fc.constant(0), end: number, preprocess }),
  6,
);

/** Of the extension of the web UI. */
const unit = fc.oneof(
  {
    weight: 6,
    arbitrary: some(
      { model: net, image },
      {
        enabled: fc.constantFrom(true, true, false, null),
        module: preprocess,
        weight: number,
        guidance_end: number,
        resize_mode: mostly(fc.constantFrom(0, 1), fc.constantFrom(2, 9, '__proto__')),
        control_mode: mostly(fc.constantFrom(0, 'Balanced'), fc.constantFrom<unknown>(2, '__proto__')),
        processor_res: fc.constantFrom(512, -1, 64),
        threshold_a: fc.constantFrom(100, -1, 64, 1e308),
        mask: mostly(fc.constantFrom(null, ''), image),
        input_image: mostly(fc.constant(''), image),
      },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(false, null, 'x', [], [[]]) },
);
const scripts = fc
  .tuple(
    mostly(fc.constantFrom('controlnet', 'ControlNet'), fc.constant('a/b~c')),
    mostly(listOf(unit, 6), fc.constantFrom<unknown>('x', null, { a: 1 })),
  )
  .map(([script, args]) => ({ [String(script)]: { args } }));

/** Tags that end, and beginnings of tags that do not, which are costly where a search begins again at each. */
const tags: fc.Arbitrary<readonly Piece[]> = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        '<lora:ink>',
        '<lora:ink:0.5>',
        '<lora:',
        '<lora:ink:',
        '<',
        ':',
        '<LoRA:é:1e9:2>',
        '((',
        ' ',
      ),
      fc.oneof(
        { weight: 5, arbitrary: fc.integer({ min: 1, max: 9 }) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 20_000 }) },
      ),
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((parts) => parts.map(([part, times]) => text(part, times)));

const SIZE = { width: 64, height: 64, steps: 1 };

/** A body in which `__prompt__` stands for the prompt, by method and path. */
const body = fc.oneof(
  fc.record({ adapters, control }, { requiredKeys: [] }).chain((fields) => {
    const input = { prompt: '__prompt__', ...fields };
    return fc.constantFrom(
      ['/v1/jobs', { type: 'text-to-image', input: { ...SIZE, prompt_syntax: 'weighted', ...input } }],
      ['/v1/jobs', { type: 'workflow', nodes: [{ id: 'a', type: 'text-to-image', input }] }],
      ['/v1/models/lehr/tiny/predictions', { input }],
      ['/v1/images/generations', { size: '64x64', ...input }],
      ['/models/tiny', { inputs: '__prompt__', parameters: { ...SIZE, ...fields } }],
    ) as fc.Arbitrary<[string, object]>;
  }),
  fc
    .tuple(fc.constantFrom('/sdapi/v1/txt2img', '/sdapi/v1/img2img'), scripts)
    .map(([path, alwayson_scripts]): [string, object] => [
      path,
      { ...SIZE, prompt: '__prompt__', init_images: [PNG], alwayson_scripts },
    ]),
);

export const guidanceRequest: fc.Arbitrary<FuzzRequest> = fc
  .record({ target: body, prompt: fc.oneof(fc.constant([text('a red circle')]), tags), how: delivery })
  .map(({ target: [path, value], prompt, how }) => {
    const [before, after = ''] = JSON.stringify(value).split('__prompt__');
    return {
      ...how,
      kind: 'guidance',
      head: headOf('POST', path, [BEARER, JSON_TYPE]),
      body: [text(before), ...prompt, text(after)],
    };
  });
