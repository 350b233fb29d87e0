import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AUTO_PROVIDERS, hasWebgpuDriver, missingLibrary, providersOf } from './provider-library.ts';

test('LEHR_DEVICE=auto tries the installed providers in order and ends with the CPU', () => {
  const providers = providersOf('auto');
  expect(providers).toEqual(AUTO_PROVIDERS.filter((provider) => providers.includes(provider)));
  expect(providers.at(-1)).toBe('cpu');
  for (const provider of providers) expect(missingLibrary(provider)).toBeUndefined();
  expect(providers.includes('webgpu')).toBe(hasWebgpuDriver());
});

test('A named device is tried alone, whether it is installed or not', () => {
  expect(providersOf('tensorrt')).toEqual(['tensorrt']);
  expect(providersOf('webgpu')).toEqual(['webgpu']);
});

test.runIf(process.platform === 'linux')(
  'WebGPU has a driver where the manifest of a Vulkan driver is',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'lehr-vulkan-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(hasWebgpuDriver([folder])).toBe(false);
    mkdirSync(join(folder, 'vulkan/icd.d'), { recursive: true });
    expect(hasWebgpuDriver([folder])).toBe(false);
    writeFileSync(join(folder, 'vulkan/icd.d/card_icd.json'), '{}');
    expect(hasWebgpuDriver(['/nowhere', folder])).toBe(true);
  },
);
