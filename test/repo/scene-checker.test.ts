/** The checker gives the same results as the Python checker of the training on the same pictures. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { checkScene, type SceneSpec, type Verdict } from '../support/scene-checker.ts';
import { type Pixels, readScene, type Scene, type SceneObject } from '../support/scene-reading.ts';

const FOLDER = new URL('../../packages/demo-models/train/diffusion/fixtures/checker/', import.meta.url);

interface Fixture {
  readonly file: string;
  readonly found: Scene;
  readonly asked: readonly { readonly spec: SceneSpec; readonly verdict: Verdict }[];
}

const fixtures: readonly Fixture[] = JSON.parse(readFileSync(new URL('verdicts.json', FOLDER), 'utf8'));

async function pixelsOf(file: string): Promise<Pixels> {
  const { data, info } = await sharp(fileURLToPath(new URL(file, FOLDER)))
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

/** The order in which objects are found does not matter. */
const lines = (objects: readonly SceneObject[]): string[] =>
  objects.map(({ colour, shape, size, x, y }) => JSON.stringify([colour, shape, size, x, y])).sort();

test.each(fixtures)(
  'The same scene is found in $file as in Python, and every check has the same result',
  async (fixture) => {
    const pixels = await pixelsOf(fixture.file);
    const scene = readScene(pixels);
    expect(scene).toMatchObject({ background: fixture.found.background, width: fixture.found.width });
    expect(lines(scene.objects)).toEqual(lines(fixture.found.objects));
    for (const { spec, verdict } of fixture.asked) expect(checkScene(pixels, spec)).toEqual(verdict);
  },
);

test('For every measure some pictures are right and some are wrong', () => {
  const verdicts = fixtures.flatMap(({ asked }) => asked.map(({ verdict }) => verdict));
  for (const measure of ['background', 'colours', 'shapes', 'relation', 'sizes'] as const) {
    const right = verdicts.filter((verdict) => verdict[measure]).length;
    expect(right).toBeGreaterThan(10);
    expect(right).toBeLessThan(verdicts.length - 10);
  }
});
