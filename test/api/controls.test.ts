/** Jobs with pictures that guide them: where the pictures are kept, who may use them, and what the API shows of them. */
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JobId, type Model, parseRegistry, toObjectKey } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, MODELS, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CONTROLS = 'controls: [{ name: edges, path: edges, preprocess: canny, description: Lines. }]';
const REGISTRY = parseRegistry(MODELS.replace('name: tiny', `name: tiny\n    ${CONTROLS}`));
const QUEUE = 'diffusion.tiny@1.64x64';
const PNG = Buffer.from('\x89PNG\r\n\x1a\n of a test', 'latin1');
const DATA = `data:image/png;base64,${PNG.toString('base64')}`;
const WHOLE = { scale: 1, start: 0, end: 1 };

const controlWorld = (): Promise<ApiWorld> => apiWorld(server.url, { registry: REGISTRY });

async function upload({ ask }: ApiWorld): Promise<string> {
  const body = new FormData();
  body.set('content', new Blob([PNG], { type: 'image/png' }), 'a.png');
  return ((await (await ask('POST', '/v1/files', undefined, { body })).json()) as { id: string }).id;
}

test('Control pictures in the request are stored for their job and deleted with it, and the record shows none of their bytes', async () => {
  const world = await controlWorld();
  const { store, records } = world.parts;
  const control = [
    { name: 'edges', image: DATA },
    { name: 'edges', image: DATA, preprocess: 'none', scale: 0.5, end: 0.8 },
  ];
  const job = await world.post({ control });
  expect(job.input.control).toEqual([
    { name: 'edges', ...WHOLE, preprocess: 'canny', image: 'data:' },
    { name: 'edges', scale: 0.5, start: 0, end: 0.8, image: 'data:' },
  ]);
  const claim = await world.worker.next(QUEUE);
  const input = (await records.read(claim.jobId))?.input;
  const kept = input?.control as { image: { kind: string; key: string } }[];
  expect(kept.map(({ image }) => image.kind)).toEqual(['object', 'object']);
  const keys = kept.map(({ image }) => toObjectKey(image.key));
  expect(new Set(keys).size).toBe(2);
  for (const key of keys) {
    const found = await store.get(key);
    expect(found && (await buffer(found.body))).toEqual(PNG);
  }
  await world.worker.fail(claim);
  const retried = await jobOf(await world.ask('POST', `/v1/jobs/${job.id}/retry`));
  expect(retried.input).toEqual(job.input);
  expect((await world.ask('DELETE', `/v1/jobs/${job.id}`)).status).toBe(204);
  for (const key of keys) expect(await store.get(key)).toBeUndefined();
  // The retry has copies of its own.
  const again = await world.worker.next(QUEUE);
  const copies = (await records.read(again.jobId))?.input.control as typeof kept;
  for (const { image } of copies) {
    expect(image.key).toContain(again.jobId);
    const copy = await store.get(toObjectKey(image.key));
    expect(copy?.bytes).toBe(PNG.length);
    await copy?.body.cancel();
  }
});

test('A control picture may be an uploaded file or a URL, and not a file of another tenant or an address of the network', async () => {
  const world = await controlWorld();
  const id = await upload(world);
  const job = await world.post({
    control: [
      { name: 'edges', image: id },
      { name: 'edges', image: 'https://x.example/a.png' },
    ],
  });
  expect(job.input.control).toMatchObject([
    { image: `https://lehr.test/v1/files/${id}` },
    { image: 'https://x.example/a.png' },
  ]);
  const wrong: readonly [image: string, detail: string][] = [
    [id.replace(/.$/, (last) => (last === '0' ? '1' : '0')), 'does not name a file of yours'],
    ['http://169.254.169.254/latest', 'is a URL that Lehr does not connect to'],
    ['ftp://x.example/a.png', 'must be an http(s) URL'],
    ['data:image/png;base64,', 'is empty'],
  ];
  for (const [image, detail] of wrong) {
    const control = [
      { name: 'edges', image: id },
      { name: 'edges', image },
    ];
    const body = { type: 'text-to-image', input: { prompt: 'x', control } };
    const response = await world.ask('POST', '/v1/jobs', body);
    expect(response.status, image).toBe(422);
    const { errors = [] } = await problemOf(response);
    expect(errors).toMatchObject([{ pointer: '/input/control/1/image' }]);
    expect(errors[0].detail).toContain(detail);
  }
});

test('A picture of another node of a workflow guides a drawing, once that node has succeeded', async () => {
  const world = await controlWorld();
  const control = [{ name: 'edges', image: '{{first.image}}' }];
  const nodes = [
    { id: 'first', type: 'text-to-image', input: { prompt: 'x' } },
    { id: 'second', type: 'text-to-image', input: { prompt: 'y', control } },
  ];
  const job = await jobOf(await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  expect(job.input).toMatchObject({ nodes: [{}, { input: { control: [{ image: '{{first.image}}' }] } }] });
  const first = await world.worker.next(QUEUE);
  await world.worker.succeed(first, PNG);
  await world.parts.workflows.advance(job.id as JobId);
  const second = await world.worker.next(QUEUE);
  const input = (await world.parts.records.read(second.jobId))?.input;
  expect(input?.control).toEqual([
    {
      ...WHOLE,
      name: 'edges',
      preprocess: 'canny',
      image: { kind: 'object', key: expect.stringContaining(first.jobId) },
    },
  ]);
  const refused = async (image: string): Promise<string> => {
    const wrong = [nodes[0], { ...nodes[1], input: { prompt: 'y', control: [{ name: 'edges', image }] } }];
    const problem = await problemOf(await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes: wrong }));
    expect(problem.errors).toMatchObject([{ pointer: '/nodes/1/input/control/0/image' }]);
    return problem.errors?.[0].detail ?? '';
  };
  expect(await refused('x {{first.image}}')).toContain('must be one reference to a picture');
  expect(await refused('{{other.image}}')).toContain('is not a node of this workflow');
});

test('A record without a control has the same input whether its model has ControlNets or none', async () => {
  const worlds = await Promise.all([apiWorld(server.url), controlWorld()]);
  const inputs = await Promise.all(
    worlds.map(async (world) => (await world.post({ seed: 7, control: [] })).input),
  );
  expect(inputs[1]).toEqual(inputs[0]);
  expect(inputs[1]).not.toHaveProperty('control');
});

test('The list of models says which ControlNets there are, and not where their folders are', async () => {
  const { ask } = await controlWorld();
  const { data } = (await (await ask('GET', '/v1/models')).json()) as { data: Model[] };
  expect(data[0]).toMatchObject({
    controls: [{ name: 'edges', preprocess: 'canny', description: 'Lines.' }],
  });
  expect(data[1]).toMatchObject({ controls: [] });
});

test('A request with more controls than are allowed, or with values out of range, is refused and each field is named', async () => {
  const { ask } = await controlWorld();
  const pointersOf = async (control: unknown) => {
    const response = await ask('POST', '/v1/jobs', {
      type: 'text-to-image',
      input: { prompt: 'x', control },
    });
    expect(response.status).toBe(422);
    return (await problemOf(response)).errors?.map(({ pointer }) => pointer);
  };
  const one = { name: 'edges', image: DATA };
  expect(await pointersOf(Array(5).fill(one))).toEqual(['/input/control']);
  expect(await pointersOf([{ ...one, scale: 2.1 }])).toEqual(['/input/control/0/scale']);
  expect(await pointersOf([{ ...one, start: 0.9, end: 0.1 }])).toEqual(['/input/control/0/end']);
  expect(await pointersOf([one, { name: 'pose', image: DATA }])).toEqual(['/input/control/1/name']);
  expect(await pointersOf([{ name: 'edges' }])).toEqual(['/input/control/0/image']);
});

type Wire = (control: readonly object[]) => readonly [path: string, body?: object, init?: RequestInit];

/** The picture of an edit is a part of a form, and its fields are texts. */
function editForm(control: readonly object[]): RequestInit {
  const body = new FormData();
  body.set('image', new Blob([PNG], { type: 'image/png' }), 'a.png');
  for (const [name, value] of Object.entries({ prompt: 'x', size: '64x64' })) body.set(name, value);
  body.set('control', JSON.stringify(control));
  return { body };
}

const SIZE = { width: 64, height: 64 };
const WIRES: readonly [name: string, pointer: string, wire: Wire][] = [
  [
    'Replicate',
    '/input/control/0/name',
    (control) => ['/v1/models/lehr/tiny/predictions', { input: { prompt: 'x', control } }],
  ],
  [
    'Hugging Face',
    'parameters.control.0.name',
    (control) => ['/models/tiny', { inputs: 'x', parameters: { ...SIZE, control } }],
  ],
  [
    'OpenAI',
    'control.0.name',
    (control) => ['/v1/images/generations', { prompt: 'x', size: '64x64', control }],
  ],
  ['OpenAI, in a form', 'control.0.name', (control) => ['/v1/images/edits', undefined, editForm(control)]],
];

/** Rejects when the call is refused before a worker has its job. */
async function refusedCall(response: Response): Promise<never> {
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return new Promise(() => undefined);
}

test.each(WIRES)('A client of %s passes control pictures', async (_, pointer, wire) => {
  const world = await controlWorld();
  const call = (control: readonly object[]) => world.ask('POST', ...wire(control));
  const refused = await call([{ name: 'pose', image: DATA }]);
  expect([400, 422]).toContain(refused.status);
  expect(await refused.text()).toContain(pointer);
  const answer = call([{ name: 'edges', image: DATA, scale: 0.5 }]);
  const claim = await Promise.race([world.worker.next(QUEUE), answer.then(refusedCall)]);
  const input = (await world.parts.records.read(claim.jobId))?.input;
  expect(input?.control).toMatchObject([{ name: 'edges', scale: 0.5, image: { kind: 'object' } }]);
  const kept = (input?.control ?? []) as { image: { key: string } }[];
  const stored = await world.parts.store.get(toObjectKey(kept[0].image.key));
  expect(stored && (await buffer(stored.body))).toEqual(PNG);
  await world.worker.succeed(claim, PNG);
  expect((await answer).status).toBeLessThan(300);
});
