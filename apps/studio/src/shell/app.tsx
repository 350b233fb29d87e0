/** The frame of every view. */
import { useEffect, useRef } from 'preact/hooks';
import { BeltView } from '../belt/belt.tsx';
import { Compare } from '../compare/compare.tsx';
import { Gallery } from '../gallery/gallery.tsx';
import { JobPage } from '../job/job-page.tsx';
import { Make } from '../make/make.tsx';
import { Link } from '../parts/link.tsx';
import { Toast } from '../parts/toast.tsx';
import { session } from '../session/session.ts';
import { SignIn } from '../session/sign-in.tsx';
import { Speak } from '../speak/speak.tsx';
import { texts } from '../texts/index.ts';
import { Bar } from './bar.tsx';
import { later } from './later.tsx';
import { type AdminTab, view } from './router.ts';

const ChartsView = later(async () => (await import('../charts/charts.tsx')).ChartsView);
const PlannedView = later(async () => (await import('../planned/planned.tsx')).PlannedView);
const BatchPage = later<{ readonly id: string }>(
  async () => (await import('../planned/batch-page.tsx')).BatchPage,
);
const AdminView = later<{ readonly tab: AdminTab }>(async () => (await import('../admin/admin.tsx')).Admin);

export function App() {
  const main = useRef<HTMLElement>(null);
  const { name } = view.value;
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = titleOf();
    // A new view is read from its start; the first one keeps the focus where the browser put it.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [name]);
  if (session.value === undefined) return <main class="loading" aria-busy="true" />;
  if (session.value === null) return <SignIn />;
  return (
    <>
      <Bar />
      <main ref={main} tabIndex={-1} class={`view view-${name}`}>
        <Current />
      </main>
      <Toast />
    </>
  );
}

function Current() {
  const shown = view.value;
  switch (shown.name) {
    case 'make':
    case 'sign-in':
      return <Make />;
    case 'speak':
      return <Speak />;
    case 'gallery':
      return <Gallery />;
    case 'compare':
      return <Compare />;
    case 'belt':
      return <BeltView />;
    case 'charts':
      return <ChartsView />;
    case 'planned':
      return <PlannedView />;
    case 'admin':
      return <AdminView tab={shown.tab} />;
    case 'job':
      return <JobPage key={shown.id} id={shown.id} />;
    case 'batch':
      return <BatchPage key={shown.id} id={shown.id} />;
    default:
      return <Unknown />;
  }
}

function Unknown() {
  return (
    <section class="blank">
      <h1>{texts.notFound.title}</h1>
      <p>{texts.notFound.text}</p>
      <Link to={{ name: 'make' }} class="button">
        {texts.notFound.back}
      </Link>
    </section>
  );
}

function titleOf(): string {
  const shown = view.value;
  const title = {
    make: texts.make.title,
    'sign-in': texts.signIn.title,
    speak: texts.speak.title,
    gallery: texts.gallery.title,
    compare: texts.compare.title,
    belt: texts.belt.title,
    charts: texts.charts.title,
    planned: texts.planned.title,
    admin: texts.admin.title,
    job: texts.job.title,
    batch: texts.planned.batch,
    unknown: texts.notFound.title,
  }[shown.name];
  return `${title} · ${texts.name}`;
}
