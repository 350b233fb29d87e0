/** Jobs with adapters, as each API that makes pictures takes them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Model, parseRegistry } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, MODELS, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const ADAPTERS = `adapters:
      - { name: ink, path: ink.safetensors, trigger: [ink drawing], scale: 0.7, description: Lines of ink. }
      - { name: film, path: film.safetensors }`;
const ADAPTED = MODELS.replace('name: tiny', `name: tiny\n    ${ADAPTERS}`);
const USED = [
  { name: 'film', scale: 1 },
  { name: 'ink', scale: -0.5 },
];
const ASKED = [{ name: 'film' }, { name: 'ink', scale: -0.5 }];

const adaptedWorld = (): Promise<ApiWorld> => apiWorld(server.url, { registry: parseRegistry(ADAPTED) });
/** What the worker gets of the next job. */
const taken = async ({ worker, parts }: ApiWorld) => {
  const claim = await worker.next('diffusion.tiny@1.64x64');
  return { claim, input: (await parts.records.read(claim.jobId))?.input };
};

test('A job keeps its adapters with their scales, and a retry has them, as long as the model does', async () => {
  const world = await adaptedWorld();
  const { id } = await world.post({ adapters: ASKED });
  const { claim, input } = await taken(world);
  expect(input).toMatchObject({ adapters: USED });
  await world.worker.fail(claim);
  const retried = await jobOf(await world.ask('POST', `/v1/jobs/${id}/retry`));
  expect(retried.input).toMatchObject({ adapters: USED });
  world.parts.registry.replaceBy(parseRegistry(MODELS));
  const refused = await world.ask('POST', `/v1/jobs/${id}/retry`);
  expect(refused.status).toBe(409);
  expect((await problemOf(refused)).detail).toContain('the adapter film, which tiny no longer has');
});

test('A record without adapters has the same input whether its model has some or none', async () => {
  const [without, adapted] = [await apiWorld(server.url), await adaptedWorld()];
  const inputs = await Promise.all(
    [without, adapted].map(async (world) => (await world.post({ seed: 7, adapters: [] })).input),
  );
  expect(inputs[1]).toEqual(inputs[0]);
  expect(inputs[1]).not.toHaveProperty('adapters');
});

test('The list of models says which adapters there are, with their words, and not where their files are', async () => {
  const { ask } = await adaptedWorld();
  const { data } = (await (await ask('GET', '/v1/models')).json()) as { data: Model[] };
  expect(data[0]).toMatchObject({
    adapters: [
      { name: 'ink', trigger: ['ink drawing'], scale: 0.7, description: 'Lines of ink.' },
      { name: 'film', trigger: [], scale: 1 },
    ],
  });
  expect(JSON.stringify(data)).not.toContain('safetensors');
});

test('Adapters that the model does not have, and lists that are no lists of adapters, are refused and named', async () => {
  const { ask } = await adaptedWorld();
  const pointerOf = async (input: object) => {
    const body = { type: 'text-to-image', input: { prompt: 'x', ...input } };
    const response = await ask('POST', '/v1/jobs', body);
    expect(response.status, JSON.stringify(input)).toBe(422);
    return (await problemOf(response)).errors?.map(({ pointer }) => pointer);
  };
  expect(await pointerOf({ adapters: [{ name: 'oil' }] })).toEqual(['/input/adapters/0/name']);
  expect(await pointerOf({ adapters: [{ name: 'ink', scale: 11 }] })).toEqual(['/input/adapters/0/scale']);
  expect(await pointerOf({ adapters: [{ name: 'ink', strength: 1 }] })).toEqual([
    '/input/adapters/0/strength',
  ]);
  expect(await pointerOf({ adapters: Array(9).fill({ name: 'ink' }) })).toEqual(['/input/adapters']);
  expect(await pointerOf({ prompt: 'x <lora:oil>', prompt_syntax: 'weighted' })).toEqual(['/input/prompt']);
});

test('A node of a workflow has adapters, also beside a prompt that another node writes', async () => {
  const world = await adaptedWorld();
  const prompt = 'a cat <lora:ink:2>';
  const node = { type: 'text-to-image', input: { prompt, prompt_syntax: 'weighted' } };
  const nodes = [{ id: 'a', ...node }];
  await jobOf(await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  expect((await taken(world)).input).toMatchObject({
    prompt: 'a cat',
    adapters: [{ name: 'ink', scale: 2 }],
  });
  const unknown = { id: 'b', type: 'text-to-image', input: { prompt: 'x', adapters: [{ name: 'oil' }] } };
  const refused = await world.ask('POST', '/v1/jobs', { type: 'workflow', nodes: [...nodes, unknown] });
  expect((await problemOf(refused)).errors).toMatchObject([{ pointer: '/nodes/1/input/adapters/0/name' }]);
});

/** Rejects when the call is refused; one that is answered before its job is drawn has a worker all the same. */
async function refusal(response: Response): Promise<never> {
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return new Promise(() => undefined);
}

const SIZE = { width: 64, height: 64 };
const WIRES: readonly [name: string, path: string, body: (adapters: object) => object, pointer: string][] = [
  [
    'Replicate',
    '/v1/models/lehr/tiny/predictions',
    (adapters) => ({ input: { prompt: 'x', adapters } }),
    '/input/adapters/0/name',
  ],
  [
    'Hugging Face',
    '/models/tiny',
    (adapters) => ({ inputs: 'x', parameters: { ...SIZE, adapters } }),
    'parameters.adapters.0.name',
  ],
  [
    'OpenAI',
    '/v1/images/generations',
    (adapters) => ({ prompt: 'x', size: '64x64', adapters }),
    'adapters.0.name',
  ],
];

test.each(WIRES)('A client of %s passes adapters', async (_, path, body, pointer) => {
  const world = await adaptedWorld();
  const refused = await world.ask('POST', path, body([{ name: 'oil' }]));
  expect([400, 422]).toContain(refused.status);
  expect(await refused.text()).toContain(pointer);
  const answer = world.ask('POST', path, body(ASKED));
  const { claim, input } = await Promise.race([taken(world), answer.then(refusal)]);
  expect(input).toMatchObject({ adapters: USED });
  await world.worker.succeed(claim, Buffer.from('png'));
  expect((await answer).status).toBeLessThan(300);
});

test('Equal requests with one Idempotency-Key are one job, and another scale under the same key is refused', async () => {
  const world = await adaptedWorld();
  const headers = { 'idempotency-key': 'once' };
  const post = (scale: number) => {
    const body = { type: 'text-to-image', input: { prompt: 'x', adapters: [{ name: 'ink', scale }] } };
    return world.ask('POST', '/v1/jobs', body, { headers });
  };
  const ids: string[] = [];
  for (const response of [await post(0.5), await post(0.5)]) ids.push((await jobOf(response)).id);
  expect(ids[1]).toBe(ids[0]);
  expect((await post(0.6)).status).toBeGreaterThanOrEqual(400);
});
