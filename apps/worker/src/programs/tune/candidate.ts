/** The configurations that `lehr tune` compares: every combination of the settings that a model can have on this machine. */
import type { Optimization } from '@lehr/shared';
import type { Provider } from '../../engine/runtime/runtime.ts';

/** What the processes of a trial are started with. */
export interface Session {
  readonly device: Provider;
  /** Undefined on devices that take none. */
  readonly threads?: number;
  readonly optimization: Optimization;
  /** The suffix of the graph files of speech and text models; undefined for pictures. */
  readonly variant?: string;
  /** Processes that share the device and work at the same time; absent for one. */
  readonly workers?: number;
}

export interface Candidate {
  readonly session: Session;
  readonly rowCap: number;
}

export interface Space {
  readonly devices: readonly Provider[];
  /** Thread counts to try on the CPU. */
  readonly threads: readonly number[];
  readonly optimizations: readonly Optimization[];
  /** Empty for pictures. */
  readonly variants: readonly string[];
  /** How many workers may share a device. */
  readonly workers: readonly number[];
  readonly cores: number;
  readonly rowCaps: readonly number[];
}

export function candidatesOf(space: Space): Candidate[] {
  const variants = space.variants.length > 0 ? space.variants : [undefined];
  return space.devices.flatMap((device) =>
    (device === 'cpu' ? space.threads : [undefined]).flatMap((threads) =>
      space.optimizations.flatMap((optimization) =>
        variants.flatMap((variant) => {
          const session: Session = {
            device,
            ...(threads !== undefined && { threads }),
            optimization,
            ...(variant !== undefined && { variant }),
          };
          return space.workers.flatMap((workers) => {
            // More threads than cores wait for each other.
            if (workers > 1 && workers * (threads ?? 0) > space.cores) return [];
            const shared = workers === 1 ? session : { ...session, workers };
            return space.rowCaps.map((rowCap) => ({ session: shared, rowCap }));
          });
        }),
      ),
    ),
  );
}

export const sessionKey = ({ device, threads, optimization, variant, workers = 1 }: Session): string =>
  [device, threads ?? '-', optimization, variant ?? '-', workers].join(' ');

export const candidateKey = ({ session, rowCap }: Candidate): string => `${sessionKey(session)} ${rowCap}`;

/** One, two, four and so on up to the cores of the machine, which are always among them. */
export function threadCounts(cores: number): number[] {
  const counts: number[] = [];
  for (let count = 1; count < cores; count *= 2) counts.push(count);
  return [...counts, cores];
}
