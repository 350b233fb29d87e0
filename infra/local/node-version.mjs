// Every program here imports this first, so that an old Node prints one sentence and not a syntax error of a dependency.
const WANTED = [20, 19];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < WANTED[0] || (major === WANTED[0] && minor < WANTED[1])) {
  console.error(`Lehr needs Node ${WANTED.join('.')} or newer; this is ${process.versions.node}.`);
  process.exit(1);
}
