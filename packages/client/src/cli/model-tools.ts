/**
 * Runs the server's program for models (apps/worker/src/model-tools) and reads its JSON lines. It is another process for the
 * same reasons as the doctor's: this package contains no S3 client and no ONNX Runtime.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CliError, EXIT, type ExitCode } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

/** The path is the same from dist/cli/ and from src/cli/. */
const PROGRAM = fileURLToPath(new URL('../../../../apps/worker/dist/model-tools/main.js', import.meta.url));

export interface ListedModel {
  readonly model: string | null;
  readonly task: string | null;
  readonly source: string | null;
  readonly folder: string;
  readonly state: string;
  readonly bytes: number;
  readonly last_used_at: string | null;
}

export interface CheckedGraph {
  readonly graph: string;
  readonly provider: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly load_ms: number;
  readonly first_run_ms: number | null;
}

/** The lines of the program, as its tool-event.ts defines them. */
export type ToolEvent =
  | { readonly type: 'waiting' }
  | { readonly type: 'progress'; readonly doneBytes: number; readonly totalBytes: number }
  | { readonly type: 'retry'; readonly message: string; readonly pauseMs: number }
  | {
      readonly type: 'pulled';
      readonly model: string;
      readonly folder: string;
      readonly bytes: number;
      readonly revision: string;
      readonly is_new: boolean;
      readonly models_file: string;
    }
  | {
      readonly type: 'list';
      readonly models: readonly ListedModel[];
      readonly cache: string;
      readonly cache_bytes: number;
    }
  | {
      readonly type: 'removed';
      readonly removed: readonly string[];
      /** Not deleted, because another process is fetching them. */
      readonly kept: readonly string[];
      readonly bytes: number;
    }
  | {
      readonly type: 'checked';
      readonly folder: string;
      readonly task: string;
      readonly batching: string;
      readonly graphs: readonly CheckedGraph[];
      readonly open_ms: number;
      readonly memory_bytes: number;
    }
  | { readonly type: 'failed'; readonly code: string; readonly message: string };

type ResultType = 'pulled' | 'list' | 'removed' | 'checked';
export type ToolResult<Type extends ResultType> = Extract<ToolEvent, { type: Type }>;

/** Other codes mean that the request cannot succeed as it is. */
const EXIT_OF: Readonly<Record<string, ExitCode>> = {
  unauthenticated: EXIT.notAllowed,
  forbidden: EXIT.notAllowed,
  unavailable: EXIT.unreachable,
  'rate-limited': EXIT.tryLater,
  'storage-failed': EXIT.noOutput,
  internal: EXIT.fault,
};

/** Resolves with the line of type `wanted`. Throws CliError with the program's error, and when the server is not installed here. */
export async function runModelTool<Type extends ResultType>(
  { env, signal }: Pick<Terminal, 'env' | 'signal'>,
  request: Readonly<Record<string, unknown>>,
  wanted: Type,
  onEvent: (event: ToolEvent) => void = () => {},
): Promise<ToolResult<Type>> {
  if (!existsSync(PROGRAM)) {
    throw new CliError(
      EXIT.config,
      'the server of Lehr is not installed here; run this where its worker runs',
    );
  }
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(request)], {
    env: { ...env },
    // Its end tells the program that this process is gone, also after a kill.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const ended = once(child, 'close') as Promise<[code: number | null, killedBy: string | null]>;
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => {
    stderr = `${stderr}${text}`.slice(-1000);
  });
  let result: ToolResult<Type> | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as ToolEvent;
    if (event.type === 'failed') throw new CliError(EXIT_OF[event.code] ?? EXIT.refused, event.message);
    if (event.type === wanted) result = event as ToolResult<Type>;
    else onEvent(event);
  }
  const [code, killedBy] = await ended;
  if (signal.aborted) throw new CliError(EXIT.interrupted, 'interrupted; what is complete stays');
  if (result) return result;
  throw new CliError(EXIT.fault, `the server's program ended (${killedBy ?? code}): ${stderr.trim()}`);
}
