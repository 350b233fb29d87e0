// node --import ./infra/local/typescript.mjs runs TypeScript from its sources: types are stripped as a file is loaded.
// Only for programs of the repository itself (benches, docs); the published programs are built.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
