/** The program of `npm run lab -- device`: runs the parts on the named device, one after the other, and keeps the results of each. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { writeResult } from '../results.ts';
import { deviceMachine } from './device-machine.ts';
import { DEMO_DIFFUSION, demoLatents, demoPixels, fixtureLatents } from './equal-pictures.ts';
import { demoTexts, demoWords, textExports, whisperExports } from './equal-words.ts';
import { orError } from './figures.ts';
import { writeFullModel } from './full-model.ts';
import { fusedSteps, writeNarrowUnet } from './fused-steps.ts';
import { copies, offLadder, onlyOnCpu, pictureMemory, tooLarge } from './limits.ts';
import { pictureRates } from './pictures-per-second.ts';
import { demoSteps, fullSteps } from './step-times.ts';

const PROVIDERS: readonly Provider[] = ['cuda', 'tensorrt', 'webgpu', 'cpu'];

interface Options {
  readonly names: readonly string[];
  readonly only?: string;
  readonly out?: string;
}
const { names, only, out: file } = JSON.parse(process.argv[2]) as Options;
const provider = PROVIDERS.find((name) => name === (names[0] ?? 'cuda'));
if (!provider) throw new Error(`The devices are: ${PROVIDERS.join(', ')}.`);
const cache = process.env.DEVICE_CACHE ?? join(homedir(), '.cache/lehr-device');
const full = join(cache, 'full-float16');

/** In an order in which a broken part leaves the results of the important ones. */
const PARTS: Record<string, () => Promise<unknown>> = {
  'demo-latents': () => demoLatents(provider),
  'demo-pixels': () => demoPixels(provider),
  'only-on-cpu': () => onlyOnCpu(provider),
  'too-large': () => tooLarge(provider),
  copies: () => copies(provider),
  'demo-speech': () => demoWords(provider),
  'demo-text': () => demoTexts(provider),
  'demo-steps': () => demoSteps(provider),
  fixtures: () => fixtureLatents(provider),
  'whisper-exports': () => whisperExports(provider),
  'text-exports': () => textExports(provider),
  'demo-off-ladder': () => offLadder(DEMO_DIFFUSION, provider, 256),
  'narrow-fused': async () => {
    const path = await writeNarrowUnet(cache, provider === 'cpu' ? 'float32' : 'float16');
    return fusedSteps({ path, provider, rows: 2, side: 256, rounds: 5 });
  },
  'full-fused': async () => {
    const path = join(full, 'unet/model.onnx');
    const two = await fusedSteps({ path, provider, rows: 2, side: 512, rounds: 10 });
    return { two, eight: await fusedSteps({ path, provider, rows: 8, side: 512, rounds: 5 }) };
  },
  'full-steps': () => fullSteps(full, provider),
  'full-rates': () => pictureRates(full, provider),
  'full-off-ladder': () => offLadder(full, provider, 512),
  'full-memory': () => pictureMemory(full, provider, 1024),
};

const out = file ?? fileURLToPath(new URL(`./results/${provider}.json`, import.meta.url));
const machine = deviceMachine(provider);
const results: Record<string, unknown> = {};
const wanted = only?.split(',');
console.error(JSON.stringify(machine));
for (const [name, run] of Object.entries(PARTS)) {
  if (wanted && !wanted.includes(name)) continue;
  if (name.startsWith('full')) await writeFullModel(full, 'float16');
  const startedAt = performance.now();
  results[name] = await orError(run);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.error(`${name} (${seconds} s): ${JSON.stringify(results[name])}`);
  writeResult(out, { machine, results });
}
// A device may keep handles open.
process.exit(0);
