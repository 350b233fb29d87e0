// Imported first by every program here: an old Node should hear one sentence, not a syntax error from a dependency.
const WANTED = [20, 19];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < WANTED[0] || (major === WANTED[0] && minor < WANTED[1])) {
  console.error(`Lehr needs Node ${WANTED.join('.')} or newer; this is ${process.versions.node}.`);
  process.exit(1);
}
