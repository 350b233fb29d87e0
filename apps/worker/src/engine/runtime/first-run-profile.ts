/**
 * Where ONNX Runtime ran each node. It moves nodes that a provider does not support to the CPU without an error. The
 * Node API does not report that, but the profile of a run does.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import type { Placement, Provider } from './runtime.ts';

const PROVIDER_NAMES: Record<string, Provider> = {
  CPUExecutionProvider: 'cpu',
  CUDAExecutionProvider: 'cuda',
  TensorrtExecutionProvider: 'tensorrt',
  WebGpuExecutionProvider: 'webgpu',
};

const ProfileSchema = z.array(z.object({ args: z.object({ provider: z.string().optional() }).optional() }));

export class FirstRunProfile {
  readonly #folder = mkdtempSync(join(tmpdir(), 'lehr-profile-'));

  /** For ONNX Runtime's option `profileFilePrefix`. */
  get filePrefix(): string {
    return join(this.#folder, 'run');
  }

  /** Counts the nodes of the written profile by provider and removes the profile. Empty when there is none. */
  read(): Placement {
    const nodes: Record<string, number> = {};
    for (const name of readdirSync(this.#folder)) {
      const events = ProfileSchema.parse(JSON.parse(readFileSync(join(this.#folder, name), 'utf8')));
      for (const { args } of events) {
        if (!args?.provider) continue;
        const provider = PROVIDER_NAMES[args.provider] ?? args.provider;
        nodes[provider] = (nodes[provider] ?? 0) + 1;
      }
    }
    this.remove();
    return nodes;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Throws LehrError `model-unavailable` when the profile shows that no node ran on the session's provider. An empty
 * profile shows nothing and passes.
 */
export function checkPlacement(path: string, provider: Provider, placement: Placement): void {
  if (Object.keys(placement).length === 0 || placement[provider]) return;
  const found = Object.entries(placement).map(([name, nodes]) => `${nodes} on ${name}`);
  throw new LehrError(
    'model-unavailable',
    `${path} was loaded on ${provider}, but none of its nodes ran there (${found.join(', ')}).`,
  );
}
