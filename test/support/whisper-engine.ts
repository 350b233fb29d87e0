/** Lehr's engine with one Whisper model, in this process: windows in, transcripts out. */
import { Engine } from '../../apps/worker/src/engine/engine.ts';
import type {
  FromEngine,
  SampleId,
  TranscribedMessage,
  WhisperAbilities,
  WhisperSample,
} from '../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { whisperWindow } from './whisper-window.ts';

export interface WhisperEngine {
  readonly abilities: WhisperAbilities;
  /** Submits all windows at once; resolves with their results in the same order, rejects when one fails. */
  write(windows: readonly WindowInput[]): Promise<TranscribedMessage[]>;
  close(): Promise<void>;
}

export type WindowInput = Pick<WhisperSample, 'mel'> &
  Partial<Omit<WhisperSample, 'id' | 'task' | 'model' | 'lane'>>;

const MODEL = 'model@1';

export async function openWhisperEngine(
  folder: string,
  options: {
    readonly rowCap: number;
    readonly threads?: number;
    /** Default: the CPU. */
    readonly providers?: readonly Provider[];
    /** The suffix of the graphs, default none. */
    readonly variant?: string;
  },
): Promise<WhisperEngine> {
  const waiting = new Map<SampleId, (message: TranscribedMessage | Error) => void>();
  const post = (message: FromEngine): void => {
    if (message.type === 'transcribed') waiting.get(message.sample)?.(message);
    if (message.type === 'failed') waiting.get(message.sample)?.(new Error(message.failure.message));
  };
  const { variant, ...rest } = options;
  const settings = { ...rest, providers: options.providers ?? (['cpu'] as const) };
  const engine = new Engine({ runtime: onnxRuntime, settings, clock: systemClock, post });
  const { whisper: abilities } = await engine.open({
    ref: MODEL,
    task: 'whisper',
    folder,
    ...(variant && { variant }),
  });
  if (!abilities) throw new Error(`${folder} is no Whisper model.`);
  const running = engine.run();
  const transcribeOne = (input: WindowInput): Promise<TranscribedMessage> =>
    new Promise((resolve, reject) => {
      const window = whisperWindow({
        model: MODEL,
        contentFrames: abilities.frontEnd.windowFrames,
        seed: 0,
        ...input,
      });
      waiting.set(window.id, (end) => {
        waiting.delete(window.id);
        if (end instanceof Error) reject(end);
        else resolve(end);
      });
      engine.submit(window);
    });
  return {
    abilities,
    write: (windows) => Promise.all(windows.map(transcribeOne)),
    close: async () => {
      engine.close();
      await running;
    },
  };
}
