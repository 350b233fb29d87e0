// Copies the Lua scripts into dist, because the TypeScript compiler does not.
import { cp } from 'node:fs/promises';

await cp('src', 'dist', {
  recursive: true,
  filter: (source) => !/\.\w+$/.test(source) || source.endsWith('.lua'),
});
