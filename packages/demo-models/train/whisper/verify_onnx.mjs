// Runs the exported graphs in ONNX Runtime and compares them with torch's answers (export.py --fixtures).
//
//   node verify_onnx.mjs MODEL_DIR FIXTURES_DIR [SPLIT_DIR] [path of onnxruntime-node]
//
// Checks: encoder, decoder without cache, with cache (one token and several at a time), batch of 1 and 3, greedy decoding,
// cross-attentions where exposed, the split layout where given.

import { readFileSync, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [modelDir, fixtureDir, splitDir, ortPath = 'onnxruntime-node'] = process.argv.slice(2)
const ort = createRequire(import.meta.url)(ortPath)
const index = JSON.parse(readFileSync(join(fixtureDir, 'index.json'), 'utf8'))
const { heads, head, layers } = index

function load(name) {
  const { shape, type } = index.tensors[name]
  const bytes = readFileSync(join(fixtureDir, `${name}.bin`))
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
  return { shape, data: type === 'int32' ? new Int32Array(buffer) : new Float32Array(buffer) }
}
/** Rows [from, to) of the first dimension. */
function rows({ shape, data }, from, to) {
  const size = data.length / shape[0]
  return { shape: [to - from, ...shape.slice(1)], data: data.slice(from * size, to * size) }
}
/** Columns [from, to) of the second dimension. */
function columns({ shape: [n, m, ...rest], data }, from, to) {
  const inner = rest.reduce((a, b) => a * b, 1)
  const out = new data.constructor(n * (to - from) * inner)
  for (let i = 0; i < n; i++) out.set(data.subarray((i * m + from) * inner, (i * m + to) * inner), i * (to - from) * inner)
  return { shape: [n, to - from, ...rest], data: out }
}
const float = ({ shape, data }) => new ort.Tensor('float32', data, shape)
const ids = ({ shape, data }) => new ort.Tensor('int64', BigInt64Array.from(data, BigInt), shape)

let failed = false
function compare(what, got, want, allowed = 1e-3) {
  const shape = got.dims.join()
  let worst = shape === want.shape.join() ? 0 : Infinity
  for (let i = 0; i < want.data.length && worst < Infinity; i++) worst = Math.max(worst, Math.abs(got.data[i] - want.data[i]))
  if (!(worst <= allowed)) failed = true
  console.log(`${worst <= allowed ? 'ok  ' : 'FAIL'} ${what} [${shape}] max difference ${worst.toExponential(2)}`)
}

const options = { intraOpNumThreads: 1, interOpNumThreads: 1 }
const encoder = await ort.InferenceSession.create(join(modelDir, 'encoder_model.onnx'), options)
const decoder = await ort.InferenceSession.create(join(modelDir, 'decoder_model_merged.onnx'), options)
console.log('inputs ', decoder.inputNames.join(' '))
console.log('outputs', decoder.outputNames.join(' '))

const mel = load('mel')
const source = load('source')
const tokens = load('ids')
const logits = load('logits')
const batch = mel.shape[0]
const length = tokens.shape[1]

function emptyPast(n) {
  const past = {}
  for (let i = 0; i < layers; i++)
    for (const side of ['decoder', 'encoder'])
      for (const half of ['key', 'value'])
        past[`past_key_values.${i}.${side}.${half}`] = new ort.Tensor('float32', new Float32Array(0), [n, heads, 0, head])
  return past
}
const flag = (value) => new ort.Tensor('bool', [value], [1])

/** One call of the merged decoder; `past` null for the first. The encoder keys are kept from the first call on. */
async function step(inputIds, hidden, past) {
  const feeds = { input_ids: ids(inputIds), encoder_hidden_states: hidden, ...(past ?? emptyPast(inputIds.shape[0])), use_cache_branch: flag(past !== null) }
  const out = await decoder.run(feeds)
  const next = {}
  for (const name of decoder.outputNames) {
    if (!name.startsWith('present.')) continue
    const key = name.replace('present', 'past_key_values')
    next[key] = past && name.includes('.encoder.') ? past[key] : out[name]
  }
  return { out, past: next }
}

for (const n of [1, batch]) {
  const encoded = await encoder.run({ input_features: float(rows(mel, 0, n)) })
  compare(`encoder, batch ${n}`, encoded.last_hidden_state, rows(source, 0, n))
  const hidden = encoded.last_hidden_state
  const all = await step(rows(tokens, 0, n), hidden, null)
  compare(`decoder without cache, batch ${n}`, all.out.logits, rows(logits, 0, n))
  for (let i = 0; i < layers; i++) {
    const name = `cross_attentions.${i}`
    if (decoder.outputNames.includes(name)) compare(`${name}, batch ${n}`, all.out[name], rows(load(name), 0, n))
  }
  // the prompt at once, then three tokens at once, then one by one
  let state = await step(columns(rows(tokens, 0, n), 0, 3), hidden, null)
  compare(`  prompt, batch ${n}`, state.out.logits, columns(rows(logits, 0, n), 0, 3))
  for (let at = 3, size = 3; at < length; at += size, size = 1) {
    state = await step(columns(rows(tokens, 0, n), at, at + size), hidden, state.past)
    compare(`  cached, tokens ${at}..${at + size - 1}, batch ${n}`, state.out.logits, columns(rows(logits, 0, n), at, at + size))
    if (at === 3) console.log(`     with-past present.0.encoder.key [${state.out['present.0.encoder.key'].dims}], decoder.key [${state.out['present.0.decoder.key'].dims}]`)
  }
}
const short = await encoder.run({ input_features: float(load('short_mel')) })
compare('encoder, shorter window', short.last_hidden_state, load('short_source'))

const never = new Set(index.never)
for (let row = 0; row < batch; row++) {
  const { last_hidden_state: hidden } = await encoder.run({ input_features: float(rows(mel, row, row + 1)) })
  const written = []
  let input = index.prompt[row]
  let past = null
  const begun = performance.now()
  while (written.length < 96) {
    const state = await step({ shape: [1, input.length], data: Int32Array.from(input) }, hidden, past)
    const vocabulary = state.out.logits.dims[2]
    const last = state.out.logits.data.subarray(-vocabulary)
    let best = -1
    for (let id = 0; id < vocabulary; id++)
      if (!never.has(id) && !(written.length === 0 && id === index.blank) && (best < 0 || last[id] > last[best])) best = id
    if (best === index.eot) break
    written.push(best)
    input = [best]
    past = state.past
  }
  const same = written.join() === index.greedy[row].join()
  if (!same) failed = true
  console.log(`${same ? 'ok  ' : 'FAIL'} greedy, clip ${row}: ${written.length} tokens, ${((performance.now() - begun) / (written.length + 1)).toFixed(2)} ms a token`)
}
let begun = performance.now()
for (let i = 0; i < 5; i++) await encoder.run({ input_features: float(rows(mel, 0, 1)) })
console.log(`     encoder ${((performance.now() - begun) / 5).toFixed(1)} ms a window on one thread`)

if (splitDir && existsSync(splitDir)) {
  const first = await ort.InferenceSession.create(join(splitDir, 'decoder_model.onnx'), options)
  const next = await ort.InferenceSession.create(join(splitDir, 'decoder_with_past_model.onnx'), options)
  const hidden = float(source)
  const head3 = await first.run({ input_ids: ids(columns(tokens, 0, 3)), encoder_hidden_states: hidden })
  compare('split: decoder_model', head3.logits, columns(logits, 0, 3))
  const past = Object.fromEntries(first.outputNames.filter((n) => n.startsWith('present.')).map((n) => [n.replace('present', 'past_key_values'), head3[n]]))
  const then = await next.run({ input_ids: ids(columns(tokens, 3, 4)), ...past })
  compare('split: decoder_with_past_model', then.logits, columns(logits, 3, 4))
}
process.exit(failed ? 1 : 0)
