/** The configurations that `lehr tune` compares: every combination of the settings that a model can have on this machine. */
import type { Optimization } from '@lehr/shared';
import type { Provider } from '../../engine/runtime/runtime.ts';

/** What one process is started with. */
export interface Session {
  readonly device: Provider;
  /** Undefined on devices that take none. */
  readonly threads?: number;
  readonly optimization: Optimization;
  /** The suffix of the graph files of speech models; undefined for pictures. */
  readonly variant?: string;
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
          return space.rowCaps.map((rowCap) => ({ session, rowCap }));
        }),
      ),
    ),
  );
}

export const sessionKey = ({ device, threads, optimization, variant }: Session): string =>
  [device, threads ?? '-', optimization, variant ?? '-'].join(' ');

export const candidateKey = ({ session, rowCap }: Candidate): string => `${sessionKey(session)} ${rowCap}`;

/** One, two, four and so on up to the cores of the machine, which are always among them. */
export function threadCounts(cores: number): number[] {
  const counts: number[] = [];
  for (let count = 1; count < cores; count *= 2) counts.push(count);
  return [...counts, cores];
}
