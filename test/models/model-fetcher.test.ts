/** The fetcher of a worker, while models.yaml changes. */
import { expect, onTestFinished, test } from 'vitest';
import { ModelFetcher } from '../../apps/worker/src/parent/model-fetcher.ts';
import { parseRegistry, type Registry, silentLog, systemClock } from '../../packages/shared/src/index.ts';
import { startHub } from '../support/hub-server.ts';
import { tinyModelFiles } from '../support/model-folders.ts';
import { tempFolder } from '../support/tiny-models.ts';

const UNET = 'unet/model.onnx';

/** Each name with its revision. */
const models = (...entries: readonly (readonly [name: string, revision: string])[]): Registry =>
  parseRegistry(
    `models:\n${entries
      .map(
        ([name, revision]) => `  - name: ${name}
    task: diffusion
    versions: [{ version: "1", source: hf://acme/model, revision: ${revision} }]
    defaults: { width: 64, height: 64, steps: 2, guidance: 5, sampler: ddim }
`,
      )
      .join('')}`,
  );

async function fetcherOf(registry: Registry, endpoint: string): Promise<ModelFetcher> {
  const settings = {
    cache: await tempFolder('cache'),
    hub: { endpoint },
    s3: { region: 'eu-west-1' },
    maxBytes: undefined,
  };
  const options = { registry, tasks: ['diffusion'], settings, clock: systemClock, log: silentLog } as const;
  const fetcher = new ModelFetcher(options);
  onTestFinished(() => fetcher.stop());
  return fetcher;
}

test('A model that leaves models.yaml while it is fetched makes way for the next one', async () => {
  const hub = await startHub(await tinyModelFiles());
  hub.fail(UNET, { kind: 'stall', after: 1000 });
  const registry = models(['gone', 'v1'], ['wanted', 'main']);
  const fetcher = await fetcherOf(registry, hub.endpoint);
  const asked = hub.asked(UNET);
  const started = fetcher.start();
  await asked;
  registry.replaceBy(models(['wanted', 'main']));
  await fetcher.readRegistry();
  await expect.poll(() => fetcher.problem).toBeUndefined();
  await started;
});

test('A longer list of models that was read before a shorter one does not come back', async () => {
  const registry = models(...Array.from({ length: 40 }, (_, i) => [`model-${i}`, 'v1'] as const));
  const fetcher = await fetcherOf(registry, 'http://127.0.0.1:1');
  const earlier = fetcher.readRegistry();
  registry.replaceBy(models(['last', 'main']));
  await Promise.all([earlier, fetcher.readRegistry()]);
  expect(fetcher.problem).toBe('last@1 waits to be fetched');
});

test('A worker fetches adapters after models, and waits for none of them', async () => {
  const name = 'ink.safetensors';
  const hub = await startHub(new Map([[name, { bytes: Buffer.alloc(1000), isLarge: true }]]));
  hub.fail(name, { kind: 'stall', after: 10 });
  const asked = hub.asked(name);
  const registry = parseRegistry(`models:
  - name: tiny
    task: diffusion
    versions: [{ version: "1", path: tiny }]
    adapters: [{ name: ink, source: hf://acme/model/${name} }]
`);
  const fetcher = await fetcherOf(registry, hub.endpoint);
  await fetcher.start();
  await asked;
  expect(fetcher.problem).toMatch(/^adapter ink of tiny (?:is being|waits to be) fetched/);
  expect(fetcher.problemOf('tiny@1')).toBeUndefined();
});
