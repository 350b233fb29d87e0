import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { manualClock } from '../../../../../test/support/manual-clock.ts';
import { type ActiveRequest, ActiveRequests } from './active-requests.ts';

/** Requests that note when they begin. */
function lines(requests = new ActiveRequests(manualClock())) {
  const begun: string[] = [];
  const arrive = (line: string): { request: ActiveRequest; beginning: Promise<void> } => {
    const request = requests.arrive(line);
    return { request, beginning: request.begin().then(() => void begun.push(line)) };
  };
  const many = (line: string, count: number) => Array.from({ length: count }, () => arrive(line));
  const turns = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await nextTurn();
  };
  return {
    requests,
    begun,
    arrive,
    many,
    turns,
    count: (line: string) => begun.filter((each) => each === line).length,
  };
}

test('Sixteen requests of a line are active, and the next one begins when one of them ends', async () => {
  const { requests, begun, many, turns } = lines();
  const all = many('a', 18);
  await turns(5);
  expect(begun).toHaveLength(16);
  expect(requests.waiting).toBe(2);
  all[0].request.end();
  await turns(2);
  expect(begun).toHaveLength(17);
  for (const { request } of all) request.end();
  expect(requests.waiting).toBe(0);
});

test('A line with many waiting requests does not keep the first request of another line waiting', async () => {
  const { many, arrive, turns } = lines();
  many('a', 1000);
  await turns(5);
  await arrive('b').beginning;
});

test('Lines take turns for the requests that begin next', async () => {
  const { begun, many, turns } = lines();
  many('a', 1000);
  many('b', 3);
  await turns(5);
  // Eight of the first line had begun before the second one came.
  expect(begun.slice(8, 14).filter((line) => line === 'b')).toHaveLength(3);
});

test('Eight requests begin in one turn of the event loop, whatever their lines', async () => {
  const { begun, arrive, turns } = lines();
  for (let i = 0; i < 20; i++) arrive(`line ${i}`);
  const counts: number[] = [];
  for (let i = 0; i < 3; i++) {
    await turns(1);
    counts.push(begun.length);
  }
  expect(counts).toEqual([16, 20, 20]);
});

test('While connections are taken, one waiting request begins in a turn', async () => {
  const { requests, begun, arrive, turns } = lines();
  for (let i = 0; i < 20; i++) arrive(`line ${i}`);
  const counts: number[] = [];
  for (let i = 0; i < 3; i++) {
    requests.connected();
    await turns(1);
    counts.push(begun.length);
  }
  expect(counts).toEqual([9, 10, 11]);
});

test('A request that waits for something slow is not active, and waits for its turn before it goes on', async () => {
  const { begun, many, turns } = lines();
  const all = many('a', 17);
  await turns(5);
  let end = (): void => {};
  const slow = new Promise<void>((resolve) => {
    end = resolve;
  });
  let goesOn = false;
  const going = all[0].request.inactive(slow).then(() => {
    goesOn = true;
  });
  await turns(2);
  expect(begun).toHaveLength(17);
  end();
  await turns(5);
  expect(goesOn).toBe(false);
  all[1].request.end();
  await going;
});

test('A request that fails while it waits fails when it is its turn', async () => {
  const { arrive } = lines();
  const { request, beginning } = arrive('a');
  await beginning;
  await expect(request.inactive(Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
});

test('A request is refused when it has waited for ten seconds, and one that had begun is not', async () => {
  const clock = manualClock();
  const { requests, many, arrive, turns } = lines(new ActiveRequests(clock));
  const [first, second] = many('a', 16);
  await turns(5);
  const back = first.request.inactive(clock.sleep(1));
  await turns(2);
  // It takes the place of the one that waits for something slow.
  await arrive('a').beginning;
  const { beginning } = arrive('a');
  await expect(clock.until(beginning)).rejects.toMatchObject({
    code: 'overloaded',
    retryAfterS: expect.any(Number),
  });
  expect(clock.monotonic()).toBeGreaterThanOrEqual(10_000);
  expect(clock.monotonic()).toBeLessThan(11_000);
  expect(requests.waiting).toBe(1);
  second.request.end();
  await back;
});

test('A request whose caller hangs up before its turn leaves its line and never begins', async () => {
  const { requests, many, arrive, turns } = lines();
  const all = many('a', 16);
  await turns(5);
  const gone = requests.arrive('a');
  const begins = gone.begin();
  const next = arrive('a');
  gone.hangUp();
  expect(await begins).toBe(false);
  gone.end();
  expect(requests.waiting).toBe(1);
  all[0].request.end();
  await next.beginning;
});

test('Requests whose callers hang up while they wait for something slow go on in turns', async () => {
  const { requests, many, turns } = lines();
  const all = many('a', 16);
  await turns(5);
  let hangUpAll = (): void => {};
  const slow = new Promise<void>((resolve) => {
    hangUpAll = resolve;
  });
  let onTheirWay = 0;
  for (const { request } of all) void request.inactive(slow).then(() => (onTheirWay += 1));
  const held = many('a', 16);
  await turns(5);
  for (const { request } of all) request.hangUp();
  hangUpAll();
  await turns(5);
  expect([onTheirWay, requests.waiting]).toEqual([0, 16]);
  for (const { request } of held) request.end();
  await turns(5);
  expect([onTheirWay, requests.waiting]).toEqual([16, 0]);
});

test('Requests that end while they wait for something slow take no place of their line afterwards', async () => {
  const { arrive, begun, turns } = lines();
  await arrive('a').beginning;
  for (let i = 0; i < 20; i++) {
    const { request, beginning } = arrive('a');
    await beginning;
    let finish = (): void => {};
    const waiting = request.inactive(
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
    );
    request.end();
    finish();
    await waiting;
  }
  const before = begun.length;
  void arrive('a').beginning;
  await turns(5);
  expect(begun).toHaveLength(before + 1);
});

test('A request that ends while it waits to go on takes no place when its turn comes', async () => {
  const { many, arrive, begun, turns } = lines();
  // It keeps the line.
  await arrive('a').beginning;
  const slow = arrive('a');
  await slow.beginning;
  const waiting = slow.request.inactive(Promise.resolve());
  const others = many('a', 15);
  await turns(10);
  slow.request.end();
  for (const { request } of others) request.end();
  await waiting;
  const before = begun.length;
  many('a', 15);
  await turns(10);
  expect(begun).toHaveLength(before + 15);
});
