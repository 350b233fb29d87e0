/** The few words of Redis's protocol that the launcher needs before any module is installed. */
import { once } from 'node:events';
import { connect } from 'node:net';

const TIMEOUT_MS = 2000;

/**
 * Opens a connection, with `password` where there is one. Rejects when nobody answers there, or not as Redis would.
 * `call(...words)` resolves with the text of the reply and rejects on an error reply; one call at a time.
 */
export async function openRedis({ port, password }) {
  const socket = connect({ host: '127.0.0.1', port }).setEncoding('utf8');
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(silence()));
  await once(socket, 'connect');
  // A lost connection shows in the reply that does not come.
  socket.on('error', () => {});
  const replies = repliesOf(socket);
  const call = async (...words) => {
    socket.write(
      `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`,
    );
    const { value, done } = await replies.next();
    if (done) throw new Error('the connection was closed');
    if (value.startsWith('-')) throw new Error(value.slice(1));
    return value;
  };
  try {
    if (password) await call('AUTH', password);
    await call('PING');
  } catch (error) {
    socket.destroy();
    throw error;
  }
  socket.setTimeout(0);
  return {
    call,
    close: () => socket.destroy(),
    closed: new Promise((resolve) => socket.once('close', resolve)),
  };
}

/** Somebody listens there and says nothing. */
const silence = () => Object.assign(new Error('no answer'), { isSilence: true });

/** Status lines, errors, numbers and bulk texts, each as one string; arrays are never asked for. */
async function* repliesOf(socket) {
  let text = '';
  for await (const chunk of socket) {
    text += chunk;
    for (;;) {
      const lineEnd = text.indexOf('\r\n');
      if (lineEnd < 0) break;
      const head = text.slice(0, lineEnd);
      if (!head.startsWith('$')) {
        text = text.slice(lineEnd + 2);
        yield head.replace(/^[+:]/, '');
        continue;
      }
      // Only ASCII is ever asked for, so that characters are bytes.
      const end = lineEnd + 2 + Number(head.slice(1));
      if (text.length < end + 2) break;
      yield text.slice(lineEnd + 2, end);
      text = text.slice(end + 2);
    }
  }
}
