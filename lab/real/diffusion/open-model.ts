/** Opens the folder in argv, answers with a line of JSON on stdout, and keeps the model open until stdin closes. */
import { openDiffusionModel } from '../../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';

const [folder] = process.argv.slice(2);
const startedAt = performance.now();
const model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
const seconds = (performance.now() - startedAt) / 1000;
const { user, system } = process.cpuUsage();
const batching = model.batching.mode;
console.log(JSON.stringify({ seconds, cpuSeconds: (user + system) / 1e6, batching }));
process.stdin.on('end', () => process.exit(0)).resume();
