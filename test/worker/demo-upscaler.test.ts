/** What the demo upscaler makes of pictures that it has not seen, beside the filter that programs use without a model. */
import { dirname, join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Engine } from '../../apps/worker/src/engine/engine.ts';
import type {
  FromEngine,
  SampleId,
  TransformResult,
} from '../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import { systemClock } from '../../packages/shared/src/index.ts';

const FOLDER = join(dirname(demoModelsFile()), 'demo-upscaler');
const SIZE = 640;
/** The card has a mean gain of 11 dB for scenes, and 8 for the worst of 64. */
const LEAST_GAIN = 8;

/** Shapes of the scenes that it is for, larger than a tile, in places that no scene has. */
const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="${SIZE}" height="${SIZE}" viewBox="0 0 320 320">
  <rect width="100%" height="100%" fill="#3b68d8"/>
  <circle cx="86.3" cy="90.7" r="52.4" fill="#e23c3c"/>
  <path d="M236 41 L257 95 L315 98 L270 135 L285 191 L236 160 L187 191 L202 135 L157 98 L215 95 Z" fill="#f9d648"/>
  <path d="M95 180 L160 292 L30 292 Z" fill="#f5f5f0"/>
</svg>`;

interface Pixels {
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

async function pixelsOf(picture: Sharp): Promise<Pixels> {
  const { data, info } = await picture.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { pixels: new Uint8Array(data), width: info.width, height: info.height };
}

const sharpOf = ({ pixels, width, height }: Pixels): Sharp =>
  sharp(pixels, { raw: { width, height, channels: 3 } });

async function upscaled(picture: Pixels): Promise<TransformResult> {
  const posted: FromEngine[] = [];
  const settings = { providers: ['cpu'], threads: 1, rowCap: 4 } as const;
  const post = (message: FromEngine): void => {
    posted.push(message);
  };
  const engine = new Engine({ runtime: onnxRuntime, settings, clock: systemClock, post });
  const model = { ref: 'demo-upscaler@1', task: 'transform', result: 'picture', scale: 2 } as const;
  await engine.open({ ...model, folder: FOLDER });
  const running = engine.run();
  onTestFinished(async () => {
    engine.close();
    await running;
  });
  engine.submit({
    id: 'picture' as SampleId,
    task: 'transform',
    model: model.ref,
    lane: `transform.${model.ref}`,
    topK: 5,
    maxBatchMates: 4,
    ...picture,
  });
  return vi.waitFor(() => {
    const end = posted.find(({ type }) => type === 'transformed' || type === 'failed');
    if (end?.type !== 'transformed') throw new Error(JSON.stringify(end));
    return end.result;
  }, 20_000);
}

/** Peak signal to noise ratio, dB. */
function psnr(a: Uint8Array, b: Uint8Array): number {
  const square = a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0);
  return 10 * Math.log10(255 ** 2 / (square / a.length));
}

test('demo-upscaler makes flat shapes much nearer to the large picture than lanczos, across the seams of its tiles', async () => {
  const large = await pixelsOf(sharp(Buffer.from(PICTURE)));
  const small = await pixelsOf(sharpOf(large).resize(SIZE / 2, SIZE / 2, { kernel: 'cubic' }));
  const filtered = await pixelsOf(sharpOf(small).resize(SIZE, SIZE, { kernel: 'lanczos3' }));
  const result = await upscaled(small);
  if (result.kind !== 'picture') throw new Error(result.kind);
  expect([result.width, result.height]).toEqual([SIZE, SIZE]);
  const gain = psnr(result.pixels, large.pixels) - psnr(filtered.pixels, large.pixels);
  expect(gain).toBeGreaterThan(LEAST_GAIN);
});
