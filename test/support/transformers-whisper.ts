/** transformers.js with a Whisper folder, to compare Lehr with. It runs in this process, on the same ONNX Runtime package. */
import { dirname } from 'node:path';
import { env, Tensor, WhisperForConditionalGeneration } from '@huggingface/transformers';

export interface TransformersOptions {
  /** The subfolder with the graphs; '' if they are beside the configs. */
  readonly subfolder: '' | 'onnx';
  readonly melBins: number;
  readonly windowFrames: number;
  readonly threads?: number;
}

export interface TransformersWhisper {
  /** Decodes greedily without timestamps. Returns the tokens after the prompt without the end of text. */
  write(mel: Float32Array, language: string, maxTokens: number): Promise<number[]>;
  close(): Promise<void>;
}

/** The prompt of a multilingual model: start, language, task, no timestamps. */
const PROMPT_TOKENS = 4;

export async function openTransformersWhisper(
  folder: string,
  { subfolder, melBins, windowFrames, threads }: TransformersOptions,
): Promise<TransformersWhisper> {
  // Model names are paths below this folder; nothing is downloaded.
  env.localModelPath = dirname(folder);
  env.allowRemoteModels = false;
  const model = await WhisperForConditionalGeneration.from_pretrained(
    folder.slice(dirname(folder).length + 1),
    {
      dtype: 'fp32',
      device: 'cpu',
      subfolder,
      local_files_only: true,
      ...(threads !== undefined && { session_options: { intraOpNumThreads: threads } }),
    },
  );
  const end = model.generation_config?.eos_token_id;
  return {
    async write(mel, language, maxTokens) {
      const inputs = new Tensor('float32', mel, [1, melBins, windowFrames]);
      const options = { inputs, language, task: 'transcribe', max_new_tokens: maxTokens };
      const written = (await model.generate(options)) as Tensor;
      const tokens = Array.from(written.data as BigInt64Array, Number).slice(PROMPT_TOKENS);
      return tokens.filter((token) => token !== end);
    },
    close: async () => {
      await model.dispose();
    },
  };
}
