/** SwiftShader, the Vulkan driver on the CPU that Chromium brings along: with it, WebGPU sessions run on a machine without a card. */
import { existsSync } from 'node:fs';

const DRIVER = '/usr/lib/chromium/vk_swiftshader_icd.json';
const LOADERS = [
  '/usr/lib/x86_64-linux-gnu/libvulkan.so.1',
  '/usr/lib/aarch64-linux-gnu/libvulkan.so.1',
  '/usr/lib64/libvulkan.so.1',
];

/** False when the driver or Vulkan's loader is not installed; tests that need them are then reported as skipped. */
export const hasSoftwareVulkan: boolean = existsSync(DRIVER) && LOADERS.some((path) => existsSync(path));

/** From now on this process sees this driver alone. Must be called before its first WebGPU session. */
export function useSoftwareVulkan(): void {
  process.env.VK_DRIVER_FILES = DRIVER;
  // The name of the variable for loaders before 1.3.207.
  process.env.VK_ICD_FILENAMES = DRIVER;
  // Other layers than the driver complain without it.
  process.env.XDG_RUNTIME_DIR ??= '/tmp';
}
