/** The ControlNets of a model, by the names of models.yaml: they run before the UNet, for the rows of a step that they guide. */
import { LehrError } from '@lehr/shared';
import type { FedRow, LatentSize } from '../row-feeds.ts';
import type { ControlNet } from './control-net.ts';
import type { RowResiduals } from './residual-stack.ts';

/** How a ControlNet guides a row at its step. */
export interface RowControl {
  readonly name: string;
  /** `[3, height, width]` in pixels, from 0 to 1. */
  readonly picture: Float32Array;
  readonly scale: number;
}

interface GuidedRow extends FedRow {
  readonly controls?: readonly RowControl[];
}

type Residuals<Row> = (row: Row) => readonly RowResiduals[];

export class ControlNets {
  readonly #nets: ReadonlyMap<string, ControlNet>;

  constructor(nets: ReadonlyMap<string, ControlNet>) {
    this.#nets = nets;
  }

  /** What is added to each row. Each ControlNet runs once for all of its rows, or once for each timestep when it takes no more. */
  async run<Row extends GuidedRow>(rows: readonly Row[], size: LatentSize): Promise<Residuals<Row>> {
    const found = new Map<Row, RowResiduals[]>();
    const uses = [...new Set(rows)].flatMap((row) =>
      (row.controls ?? []).map((control): Use<Row> => ({ row, control })),
    );
    for (const name of new Set(uses.map(({ control }) => control.name))) {
      const net = this.#net(name);
      const own = uses.filter(({ control }) => control.name === name);
      for (const group of groupsOf(own, net)) {
        const fed = group.map(({ row, control: { picture } }) => ({
          ...row,
          latent: latentFor(net, row, size),
          picture,
        }));
        const results = await net.run(fed, size);
        for (const [i, { row, control }] of group.entries()) {
          const added = { scale: control.scale, residuals: results[i] };
          found.set(row, [...(found.get(row) ?? []), added]);
        }
      }
    }
    return (row) => found.get(row) ?? [];
  }

  #net(name: string): ControlNet {
    const net = this.#nets.get(name);
    if (!net) throw new LehrError('engine-failed', `The ControlNet "${name}" is not open.`);
    return net;
  }
}

interface Use<Row> {
  readonly row: Row;
  readonly control: RowControl;
}

/** Without what an inpainting model reads behind it. */
const latentFor = (net: ControlNet, { latent }: FedRow, { height, width }: LatentSize): Float32Array => {
  const length = net.inputChannels * height * width;
  return latent.length > length ? latent.subarray(0, length) : latent;
};

/** Those that can be in one run. */
function groupsOf<Row extends FedRow>(uses: readonly Use<Row>[], net: ControlNet): Use<Row>[][] {
  const groups = new Map<string, Use<Row>[]>();
  for (const [i, use] of uses.entries()) {
    const timestep = net.batching.mode === 'rows' ? 'any' : use.row.timestep;
    const name = `${timestep} ${Math.floor(i / (net.fixedRows ?? uses.length))}`;
    groups.set(name, [...(groups.get(name) ?? []), use]);
  }
  return [...groups.values()];
}
