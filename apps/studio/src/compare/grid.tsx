/** The pictures of a comparison as a table: each cell fills when its line has ended. */
import { useSignal } from '@preact/signals';
import { LineBox } from '../jobs/line-box.tsx';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { texts } from '../texts/index.ts';
import { countCells, lineOf, valuesOf } from './comparison.ts';
import { savePicture } from './export.ts';
import { isBusy, type Made } from './making.ts';

export function Grid({ made: { comparison, followed } }: { readonly made: Made }) {
  const [columns, rows] = [valuesOf(comparison.xs), valuesOf(comparison.ys)];
  const [lines, gone] = [followed.lines.value ?? [], followed.fault.value];
  const { axes, value, cell, grid } = texts.compare;
  const [width, height] = [Number(comparison.width), Number(comparison.height)];
  // Cells that nothing will fill would seem to wait.
  if (gone && lines.length === 0)
    return (
      <p class="fault" role="alert">
        {gone.message}
      </p>
    );
  return (
    <>
      <div class="grid-scroll">
        <table class="compare-grid">
          <caption class="hidden">{grid(comparison.prompt)}</caption>
          <thead>
            <tr>
              <td />
              {columns.map((x) => (
                <th key={x} scope="col">
                  {value(axes[comparison.x], x)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((y) => (
              <tr key={y}>
                <th scope="row">{value(axes[comparison.y], y)}</th>
                {columns.map((x) => (
                  <td key={x}>
                    <LineBox
                      line={lineOf(lines, comparison, x, y)}
                      alt={cell(x, y)}
                      width={width}
                      height={height}
                      onStale={() => followed.refresh()}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Foot made={{ comparison, followed }} />
    </>
  );
}

function Foot({ made: { comparison, followed } }: { readonly made: Made }) {
  const failed = useSignal(false);
  const { completed = 0, failed: faults = 0 } = followed.batch.value?.request_counts ?? {};
  const save = async (): Promise<void> => {
    failed.value = false;
    try {
      // With links that are signed now.
      await followed.refresh();
      const lines = followed.lines.value ?? [];
      const images = valuesOf(comparison.ys).flatMap((y) =>
        valuesOf(comparison.xs).map((x) => lineOf(lines, comparison, x, y)?.job?.output?.images?.[0]),
      );
      await savePicture(comparison, images);
    } catch {
      failed.value = true;
    }
  };
  return (
    <div class="compare-foot">
      <p role="status">
        {followed.isLost.value
          ? texts.admin.lost
          : texts.compare.done(completed + faults, countCells(comparison))}
      </p>
      <Link to={{ name: 'batch', id: followed.id }} class="button">
        <Icon name="page" />
        {texts.compare.batch}
      </Link>
      <button type="button" class="button" disabled={isBusy.value || completed === 0} onClick={save}>
        <Icon name="download" />
        {texts.compare.export}
      </button>
      <p class="fault" role="alert">
        {followed.fault.value?.message ?? (failed.value && texts.compare.exportFailed)}
      </p>
    </div>
  );
}
