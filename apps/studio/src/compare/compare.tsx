/** The view that compares: the form on one side, the grid on the other. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { countCells, MAX_CELLS, type Problem } from './comparison.ts';
import { comparison, openForm, problem } from './form.ts';
import { FormFields } from './form-fields.tsx';
import { Grid } from './grid.tsx';
import { cancelAll, isBusy, isCanceling, made, makeAll } from './making.ts';

export function Compare() {
  const fault = useSignal<string | undefined>(undefined);
  useEffect(() => {
    openForm().catch((error) => {
      fault.value = faultOf(error).message;
    });
  }, []);
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (comparison.value && !problem.value && !isBusy.value) void makeAll(comparison.value);
  };
  return (
    <div class="make compare">
      <form class="panel" onSubmit={onSubmit}>
        <div class="panel-part">
          <h1>{texts.compare.title}</h1>
          <p class="hint">{texts.compare.lead(MAX_CELLS)}</p>
          <FormFields />
          <Submit />
          <p class="fault" role="alert">
            {fault.value ?? (problem.value && problem.value !== 'prompt' && wordsOf(problem.value))}
          </p>
        </div>
      </form>
      <section class="stage compare-stage" aria-label={texts.result.label}>
        {made.value ? <Grid made={made.value} /> : <Empty />}
      </section>
    </div>
  );
}

function Submit() {
  if (isBusy.value) {
    return (
      <button type="button" class="button button-wide" disabled={isCanceling.value} onClick={cancelAll}>
        {isCanceling.value ? texts.compare.canceling : texts.compare.cancel}
      </button>
    );
  }
  const now = comparison.value;
  return (
    <button
      type="submit"
      class="button button-primary button-wide"
      disabled={!now || problem.value !== undefined}
    >
      {texts.compare.button(now ? countCells(now) : 0)}
    </button>
  );
}

function wordsOf(what: Problem): string {
  if (what !== 'too-many') return texts.compare.problems[what];
  return texts.compare.tooMany(comparison.value ? countCells(comparison.value) : 0, MAX_CELLS);
}

function Empty() {
  return (
    <div class="empty">
      <div class="compare-sketch" aria-hidden="true">
        {Array.from({ length: 9 }, (_, index) => (
          <span key={index} />
        ))}
      </div>
      <h2>{texts.compare.emptyTitle}</h2>
      <p>{texts.compare.emptyText}</p>
    </div>
  );
}
