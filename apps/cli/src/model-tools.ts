/**
 * Runs the server's program for models (apps/worker/src/programs/model-tools) and reads its JSON lines, of which only the type is
 * imported. It is another process for the same reasons as the doctor's: this package contains no S3 client and no ONNX Runtime.
 */
import type { ToolEvent } from '@lehr/worker/tool-event';
import { runServerProgram, serverProgram } from './server-program.ts';
import type { Terminal } from './terminal.ts';

export type { GraphCheck, ListedModel, ListedPart, ToolEvent } from '@lehr/worker/tool-event';

type ResultType =
  | 'pulled'
  | 'imported'
  | 'exported'
  | 'adapter-imported'
  | 'merged'
  | 'list'
  | 'removed'
  | 'checked'
  | 'tuned'
  | 'entered'
  | 'prepared'
  | 'converted';
export type ToolResult<Type extends ResultType> = Extract<ToolEvent, { type: Type }>;

/** Resolves with the line of type `wanted`. Throws CliError with the program's error, and when the server is not installed here. */
export const runModelTool = <Type extends ResultType>(
  terminal: Pick<Terminal, 'env' | 'signal'>,
  request: Readonly<Record<string, unknown>>,
  wanted: Type,
  onEvent: (event: ToolEvent) => void = () => {},
): Promise<ToolResult<Type>> =>
  runServerProgram<ToolEvent, Type>(
    serverProgram('model-tools'),
    [JSON.stringify(request)],
    terminal,
    wanted,
    onEvent,
  );
