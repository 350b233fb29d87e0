/** transformers.js on a Whisper folder: what Lehr is compared with. It runs on the same ONNX Runtime, in this process. */
import { dirname } from 'node:path';
import { env, Tensor, WhisperForConditionalGeneration } from '@huggingface/transformers';

export interface TransformersOptions {
  /** Where the graphs lie below the folder; '' for beside the configs. */
  readonly subfolder: '' | 'onnx';
  readonly melBins: number;
  readonly windowFrames: number;
  readonly threads?: number;
}

export interface TransformersWhisper {
  /** Greedy, without timestamps: the tokens after the prompt, the end of text left out. */
  write(mel: Float32Array, language: string, maxTokens: number): Promise<number[]>;
  close(): Promise<void>;
}

/** English and Spanish prompts of multilingual models are start, language, task, no timestamps. */
const PROMPT_TOKENS = 4;

export async function openTransformersWhisper(
  folder: string,
  { subfolder, melBins, windowFrames, threads }: TransformersOptions,
): Promise<TransformersWhisper> {
  // Model names are paths below this one; nothing is fetched.
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
