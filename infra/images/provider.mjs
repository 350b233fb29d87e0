/** What can be looked at in the CUDA image without a card: its libraries, and how the worker ends there. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const PLACE = '/lehr/node_modules/onnxruntime-node/bin/napi-v6/linux/x64';
/** Comes with the driver, which the container toolkit adds. */
const OF_THE_DRIVER = ['libcuda.so.1'];

/** Lines about the provider and every library; throws when one needs a library that neither the image nor the driver has. */
export function provider(root, config) {
  const env = Object.fromEntries(config.Env.map((each) => each.split(/=(.*)/s).slice(0, 2)));
  const listed = spawnSync('chroot', [root, 'sh', '-c', `ls ${PLACE}/*.so* /opt/nvidia/*/lib/*.so*`], {
    encoding: 'utf8',
  });
  const libraries = listed.stdout.trim().split('\n');
  if (!libraries.some((path) => path === join(PLACE, 'libonnxruntime_providers_cuda.so'))) {
    throw new Error(`the image has no CUDA provider:\n${listed.stdout}${listed.stderr}`);
  }
  const missing = new Map();
  for (const path of libraries) {
    const { stdout, status } = spawnSync('chroot', [root, 'ldd', path], { encoding: 'utf8', env });
    if (status !== 0) throw new Error(`ldd ${path} ended with ${status}`);
    for (const [, name] of stdout.matchAll(/^\s*(\S+) => not found$/gm)) {
      missing.set(name, [...(missing.get(name) ?? []), path]);
    }
  }
  const unexpected = [...missing.keys()].filter((name) => !OF_THE_DRIVER.includes(name));
  if (unexpected.length > 0) throw new Error(`the image lacks ${unexpected.join(', ')}`);
  return [
    `cuda: ${libraries.length} libraries, all that they need is there but for ${OF_THE_DRIVER.join()} of the driver`,
  ];
}
