/** The running batch of one worker: its samples as tiles that ride from their first step to their last. */
import { Link } from '../parts/link.tsx';
import { texts } from '../texts/index.ts';
import type { BeltLane, Tile } from './belt-state.ts';
import { RowsLine } from './rows-line.tsx';

export function LaneBelt({ lane, showsWorker }: { readonly lane: BeltLane; readonly showsWorker: boolean }) {
  const { tiles, tracks, rows, row_cap: cap, more_samples: more } = lane;
  const isEmpty = tiles.length === 0 && more === 0;
  return (
    <div class="lane" data-running={lane.calls_per_s > 0}>
      <div class="lane-head">
        {showsWorker && <span class="lane-worker">{lane.worker}</span>}
        <Rows rows={rows} cap={cap} />
      </div>
      <div class="lane-row">
        <div
          class="lane-bed"
          data-empty={isEmpty}
          data-density={densityOf(tracks)}
          style={{ '--tracks': String(tracks) }}
        >
          <ul class="lane-tiles">
            {tiles.map((tile) => (
              <TileItem key={tile.id} tile={tile} />
            ))}
          </ul>
          {isEmpty && <p class="lane-note">{texts.belt.idle}</p>}
          <div class="rollers" aria-hidden="true" />
        </div>
        <RowsLine lane={lane} />
      </div>
      {more > 0 && <p class="hint">{texts.belt.moreSamples(more)}</p>}
    </div>
  );
}

/** Many samples make the tiles of a belt lower. */
function densityOf(tracks: number): 'few' | 'many' | 'most' {
  if (tracks <= 9) return 'few';
  return tracks <= 18 ? 'many' : 'most';
}

function TileItem({ tile: { job, state, step, steps, track } }: { readonly tile: Tile }) {
  const style = { '--at': String(Math.min(1, step / steps)), '--row': String(track) };
  const words = job ? texts.belt.ownTile(step, steps) : texts.belt.otherTile(step, steps);
  return (
    <li class="belt-tile" data-own={job !== null} data-state={state} style={style} title={words}>
      {job === null ? (
        <span class="hidden">{words}</span>
      ) : (
        <Link to={{ name: 'job', id: job }} class="belt-tile-link">
          <span class="hidden">{words}</span>
          <span aria-hidden="true">{`${step}/${steps}`}</span>
        </Link>
      )}
    </li>
  );
}

/** The rows of the batch as cells: those in use are filled. */
function Rows({ rows, cap }: { readonly rows: number; readonly cap: number }) {
  const words = texts.belt.rows(rows, cap);
  return (
    <div class="rows">
      <span class="rows-cells" aria-hidden="true">
        {Array.from({ length: Math.min(cap, 32) }, (_, index) => (
          <span key={index} class="rows-cell" data-used={index < rows} />
        ))}
      </span>
      <span>{words}</span>
    </div>
  );
}
