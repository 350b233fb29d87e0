/** All own jobs as tiles. */
import type { Job } from '@lehr/client';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { texts } from '../texts/index.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { choose, fault, filter, found, isAtEnd, isLoading, jobs, loadMore, reload, search } from './shelf.ts';
import { Tile } from './tile.tsx';

export function Gallery() {
  const doomed = useSignal<Job | undefined>(undefined);
  useEffect(() => {
    void reload();
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
      <ul class="tiles">
        {found.value.map((job) => (
          <Tile
            key={job.id}
            job={job}
            onDelete={() => {
              doomed.value = job;
            }}
          />
        ))}
      </ul>
      <Foot />
      <DeleteDialog doomed={doomed} />
    </div>
  );
}

const STATES = ['queued', 'running', 'succeeded', 'failed', 'canceled', 'expired'] as const;
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
            search.value = event.currentTarget.value;
            void loadMore();
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

function Foot() {
  const edge = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!edge.current) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void loadMore(), {
      rootMargin: '600px',
    });
    observer.observe(edge.current);
    return () => observer.disconnect();
    // After each page, because an edge that stays in view is not reported again.
  }, [jobs.value.length]);
  const isEmpty = isAtEnd.value && found.value.length === 0;
  return (
    <div class="gallery-foot" ref={edge} role="status">
      {isLoading.value && texts.gallery.loading}
      {isEmpty && jobs.value.length > 0 && texts.gallery.noMatch(jobs.value.length)}
      {isEmpty && jobs.value.length === 0 && <Nothing />}
      {!isEmpty && !isLoading.value && texts.gallery.searched(found.value.length, jobs.value.length)}
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
