/**
 * The part of `lehr models` that needs the server's modules. Its argument is a JSON object; it prints JSON lines (tool-event.ts).
 * The exit code is 0 also when the command failed: the last line says so.
 */
import { ConfigError, type PlainError, toPlainError, unreachable } from '@lehr/shared';
import type { CheckRequest } from './check.ts';
import type { ExportRequest } from './export.ts';
import type { ImportRequest } from './import.ts';
import type { ImportAdapterRequest } from './import-adapter.ts';
import { list } from './list.ts';
import type { MergeRequest } from './merge.ts';
import type { PrepareRequest } from './prepare.ts';
import { type PullRequest, pull } from './pull.ts';
import { type RemoveRequest, remove } from './remove.ts';
import type { ToolEvent } from './tool-event.ts';
import { readToolSettings } from './tool-settings.ts';
import { type EnterTunedRequest, enterTuned, type TuneRequest, tuneModel } from './tune.ts';

type ToolRequest =
  | ({ readonly command: 'pull' } & PullRequest)
  | ({ readonly command: 'import' } & ImportRequest)
  | ({ readonly command: 'export' } & ExportRequest)
  | ({ readonly command: 'import-adapter' } & ImportAdapterRequest)
  | ({ readonly command: 'merge' } & MergeRequest)
  | ({ readonly command: 'check' } & CheckRequest)
  | ({ readonly command: 'remove' } & RemoveRequest)
  | ({ readonly command: 'prepare' } & PrepareRequest)
  | ({ readonly command: 'tune' } & TuneRequest)
  | ({ readonly command: 'enter-tuned' } & EnterTunedRequest)
  | { readonly command: 'list' };

const PROGRESS_EVERY_MS = 200;

const print = (event: ToolEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

/** A chunk of a file is an event: far more than anyone reads. The first and the last are always printed. */
function paced(report: (event: ToolEvent) => void): (event: ToolEvent) => void {
  let printedAt = Number.NEGATIVE_INFINITY;
  return (event) => {
    if (event.type === 'progress' && event.doneBytes < event.totalBytes) {
      if (performance.now() - printedAt < PROGRESS_EVERY_MS) return;
      printedAt = performance.now();
    }
    report(event);
  };
}

async function run(request: ToolRequest): Promise<void> {
  const settings = readToolSettings(process.env);
  switch (request.command) {
    case 'pull':
      return pull(request, settings, paced(print));
    case 'import': {
      const { importModel } = await import('./import.ts');
      return importModel(request, settings, paced(print));
    }
    case 'export': {
      const { exportModel } = await import('./export.ts');
      return exportModel(request, settings, print);
    }
    case 'import-adapter': {
      const { importAdapter } = await import('./import-adapter.ts');
      return importAdapter(request, settings, paced(print));
    }
    case 'merge': {
      const { mergeAdapters } = await import('./merge.ts');
      return mergeAdapters(request, settings, paced(print));
    }
    case 'list':
      return print(await list(settings));
    case 'remove':
      return print(await remove(request, settings));
    case 'prepare': {
      const { prepare } = await import('./prepare.ts');
      return print(await prepare(request, settings));
    }
    case 'tune':
      return tuneModel(request, settings, print);
    case 'enter-tuned':
      return print(await enterTuned(request, settings));
    case 'check': {
      // Loaded only here, because the other commands need no ONNX Runtime.
      const { check } = await import('./check.ts');
      return print(await check(request, settings));
    }
    default:
      return unreachable(request);
  }
}

/** The pipe from `lehr` ends with its process. What was fetched stays. */
process.stdin.once('end', () => process.exit(1)).resume();
process.stdin.unref();

const failureOf = (error: unknown): PlainError =>
  error instanceof ConfigError ? { code: 'invalid-request', message: error.message } : toPlainError(error);

await run(JSON.parse(process.argv[2]) as ToolRequest).catch((error: unknown) =>
  print({ type: 'failed', ...failureOf(error) }),
);
