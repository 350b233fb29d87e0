/** Loaded into a process by `--import`: at SIGHUP it blocks the event loop for BLOCK_LOOP_MS. */
process.on('SIGHUP', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.BLOCK_LOOP_MS));
});
