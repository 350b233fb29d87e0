/** The demo models, and small random models in the folder layouts of real exports, for tests. */

export { type TinyDiffusionOptions, writeTinyDiffusion } from './diffusion/tiny-diffusion.ts';
export { clipVocabulary } from './diffusion/tiny-tokenizer.ts';
export { demoModelsFile } from './models-file.ts';
export { type TinyTransformOptions, writeTinyTransform } from './transform/tiny-transform.ts';
export { type TinyWhisperOptions, writeTinyWhisper } from './whisper/tiny-whisper.ts';
export { tokenizerJson, whisperVocabulary } from './whisper/tiny-whisper-tokenizer.ts';
