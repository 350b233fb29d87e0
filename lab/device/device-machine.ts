/** What a device run was made on. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { machineName, today } from '../results.ts';

export interface DeviceMachine {
  readonly date: string;
  readonly device: string;
  /** Of nvidia-smi; `none` without one. */
  readonly card: string;
  readonly machine: string;
  readonly onnxRuntime: string;
}

export function deviceMachine(device: string): DeviceMachine {
  const onnx = new URL('../../node_modules/onnxruntime-node/package.json', import.meta.url);
  return {
    date: today(),
    device,
    card: askCard('name,driver_version,memory.total'),
    machine: machineName(),
    onnxRuntime: (JSON.parse(readFileSync(onnx, 'utf8')) as { version: string }).version,
  };
}

/** MiB of the card's memory in use by all processes; NaN without nvidia-smi. */
export const usedMemory = (): number => Number.parseInt(askCard('memory.used'), 10);

function askCard(query: string): string {
  try {
    return execFileSync('nvidia-smi', [`--query-gpu=${query}`, '--format=csv,noheader'], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return 'none';
  }
}
