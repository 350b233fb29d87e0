// The Lua scripts stand beside the TypeScript that runs them; the compiler leaves them behind, so the build copies them.
import { cp } from 'node:fs/promises';

await cp('src', 'dist', {
  recursive: true,
  filter: (source) => !/\.\w+$/.test(source) || source.endsWith('.lua'),
});
