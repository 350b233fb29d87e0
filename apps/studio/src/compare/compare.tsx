/** The view that compares: the form on one side, the grid on the other. */

import { useEffect } from 'preact/hooks';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { countCells, MAX_CELLS, type Problem } from './comparison.ts';
import { comparison, keep, openForm, problem } from './form.ts';
import { FormFields, hasPlace } from './form-fields.tsx';
import { Grid } from './grid.tsx';
import { askSoon, cancelAll, estimate, fault, isBusy, isSending, made, makeAll } from './making.ts';

export function Compare() {
  useEffect(() => {
    openForm().catch((error) => {
      fault.value = faultOf(error);
    });
  }, []);
  const now = comparison.value;
  useEffect(() => {
    const stop = new AbortController();
    estimate.value = undefined;
    fault.value = undefined;
    if (now && !problem.value) void askSoon(now, stop.signal);
    return () => stop.abort();
  }, [now]);
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (now && !problem.value && !isBusy.value && !isSending.value) void makeAll(now, keep);
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
            {problem.value ? problem.value !== 'prompt' && wordsOf(problem.value) : formFault()}
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
    const isCanceling = made.value?.followed.batch.value?.status === 'cancelling';
    return (
      <button type="button" class="button button-wide" disabled={isCanceling} onClick={cancelAll}>
        {isCanceling ? texts.compare.canceling : texts.compare.cancel}
      </button>
    );
  }
  const now = comparison.value;
  return (
    <>
      <button
        type="submit"
        class="button button-primary button-wide"
        disabled={!now || problem.value !== undefined || isSending.value}
      >
        {texts.compare.button(now ? countCells(now) : 0)}
      </button>
      <p class="hint compare-estimate" role="status">
        {estimate.value && texts.compare.estimate(estimate.value)}
      </p>
    </>
  );
}

/** What is wrong and stands at no field. */
function formFault(): string | undefined {
  const { message, fields = {} } = fault.value ?? {};
  const now = comparison.value;
  return now && Object.keys(fields).some((name) => hasPlace(name, now)) ? undefined : message;
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
