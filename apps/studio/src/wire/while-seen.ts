/** Runs `work` while the page is seen, anew each time that it is shown again. Returns the function that stops it. */
export function whileSeen(work: (stopped: AbortSignal) => Promise<void>): () => void {
  let running = new AbortController();
  const restart = (): void => {
    running.abort();
    running = new AbortController();
    if (document.visibilityState === 'visible') void work(running.signal);
  };
  document.addEventListener('visibilitychange', restart);
  restart();
  return () => {
    document.removeEventListener('visibilitychange', restart);
    running.abort();
  };
}
