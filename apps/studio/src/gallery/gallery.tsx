/** All own jobs as tiles. */
import type { Job } from '@lehr/client';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { texts } from '../texts/index.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { useShownTiles } from './rows.ts';
import { selectNone } from './selection.ts';
import { SelectionBar } from './selection-bar.tsx';
import {
  choose,
  fault,
  filter,
  hasFailed,
  isAtEnd,
  isLoading,
  jobs,
  loadMore,
  lookFor,
  reload,
  remove,
  search,
  tryAgain,
} from './shelf.ts';
import { Tile } from './tile.tsx';

export function Gallery() {
  const doomed = useSignal<readonly Job[]>([]);
  useEffect(() => {
    void reload();
    return selectNone;
  }, []);
  return (
    <div class="gallery">
      <header class="gallery-head">
        <h1>{texts.gallery.title}</h1>
        <Filters />
      </header>
      <p class="fault" role="alert">
        {fault.value?.message}
      </p>
      <Tiles doomed={doomed} />
      <Foot />
      <SelectionBar doomed={doomed} />
      <DeleteDialog doomed={doomed} onDelete={remove} />
    </div>
  );
}

/** The next page is read when so few tiles are left. */
const AHEAD = 24;

/** Of thousands of jobs only those that are seen are in the page. */
function Tiles({ doomed }: { readonly doomed: Signal<readonly Job[]> }) {
  const list = useRef<HTMLUListElement>(null);
  const all = jobs.value;
  const { from, to, before, after } = useShownTiles(list, all.length);
  useEffect(() => {
    if (to + AHEAD >= all.length) void loadMore();
    // Again when a page has come: it may have brought few matches.
  }, [to, all.length, jobs.value.length, isLoading.value]);
  return (
    <div style={{ paddingTop: `${before}px`, paddingBottom: `${after}px` }}>
      <ul ref={list} class="tiles">
        {all.slice(from, to).map((job, i) => (
          <Tile
            key={job.id}
            job={job}
            place={from + i + 1}
            of={isAtEnd.value ? all.length : -1}
            onDelete={() => {
              doomed.value = [job];
            }}
          />
        ))}
      </ul>
    </div>
  );
}

const STATES = ['scheduled', 'queued', 'running', 'succeeded', 'failed', 'canceled', 'expired'] as const;
const TYPES = Object.keys(texts.gallery.types) as Job['type'][];

function Filters() {
  return (
    <search class="filters">
      <label class="search">
        <Icon name="search" />
        <span class="hidden">{texts.gallery.search}</span>
        <input
          type="search"
          placeholder={texts.gallery.search}
          value={search.value}
          onInput={(event) => {
            lookFor(event.currentTarget.value);
          }}
        />
      </label>
      <Choice
        name={texts.gallery.type}
        values={TYPES}
        labels={texts.gallery.types}
        chosen={filter.value.type}
        onChoose={(type) => choose({ type })}
      />
      <Choice
        name={texts.gallery.status}
        values={STATES}
        labels={texts.status}
        chosen={filter.value.status}
        onChoose={(status) => choose({ status })}
      />
    </search>
  );
}

interface ChoiceProps<Value extends string> {
  readonly name: string;
  readonly values: readonly Value[];
  readonly labels: Readonly<Record<Value, string>>;
  /** Empty: any. */
  readonly chosen: Value | '';
  readonly onChoose: (value: Value | '') => void;
}

function Choice<Value extends string>({ name, values, labels, chosen, onChoose }: ChoiceProps<Value>) {
  return (
    <select
      aria-label={name}
      value={chosen}
      onChange={(event) => onChoose(event.currentTarget.value as Value | '')}
    >
      <option value="">
        {name}: {texts.gallery.any}
      </option>
      {values.map((value) => (
        <option key={value} value={value}>
          {labels[value]}
        </option>
      ))}
    </select>
  );
}

const isFiltered = (): boolean =>
  search.value.trim() !== '' || filter.value.status !== '' || filter.value.type !== '';

function Foot() {
  const isEmpty = isAtEnd.value && jobs.value.length === 0;
  return (
    <div class="gallery-foot" role="status">
      {isLoading.value && texts.gallery.loading}
      {isEmpty && (isFiltered() ? texts.gallery.noMatch : <Nothing />)}
      {hasFailed.value && (
        <button type="button" class="button button-small" onClick={tryAgain}>
          {texts.gallery.tryAgain}
        </button>
      )}
      {!isEmpty && !isLoading.value && texts.gallery.shown(jobs.value.length)}
    </div>
  );
}

function Nothing() {
  return (
    <div class="blank">
      <p>{texts.gallery.empty}</p>
      <Link to={{ name: 'make' }} class="button button-primary">
        {texts.gallery.emptyAction}
      </Link>
    </div>
  );
}
