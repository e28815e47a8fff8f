/**
 * Shows where the time goes: `npm run bench:profile -- --lanes '8 per write' [--seconds 5]`.
 *
 * Runs one lane against Headgate under `node --cpu-prof` and prints the functions with the most self time;
 * the profile is kept for the developer tools of a browser.
 */

import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { contenders } from './support/contenders.ts'
import { lanes } from './support/lanes.ts'
import { measureLane, startLoad, startMock } from './support/measure-lane.ts'

interface Profile {
  readonly nodes: ReadonlyArray<{
    readonly id: number
    readonly callFrame: { readonly functionName: string, readonly url: string, readonly lineNumber: number }
  }>
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const { values: flags } = parseArgs({
  options: {
    lanes: { type: 'string', default: 'JSON, 1 KB body, 32' },
    seconds: { type: 'string', default: '5' }
  }
})
const lane = lanes.find(({ name }) => name.includes(flags.lanes))
const headgate = contenders.find(({ name }) => name === 'Headgate')
if (lane === undefined || headgate?.start === undefined) throw new Error(`no lane is called ${flags.lanes}`)

const folder = mkdtempSync(join(tmpdir(), 'headgate-profile-'))
const { upstreamPort, mock } = await startMock()
const load = await startLoad()
const gateway = await headgate.start(upstreamPort, {
  nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${folder}`]
})
const durationMs = Math.min(Number(flags.seconds), 60) * 1000
const sample = await measureLane(load, lane, headgate, gateway, upstreamPort, { warmUpMs: 2_000, durationMs })
await Promise.all([gateway.stop(), mock.stop(), load.stop()])

const file = join(folder, readdirSync(folder)[0] ?? '')
// Written by Node.js, in its documented format.
const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile
const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
const selfUs = new Map<string, number>()
// Only the last samples are of the measured time: earlier ones are of the start and of V8's compiler.
let leftUs = durationMs * 1000
for (let index = profile.samples.length - 1; index >= 0 && leftUs > 0; index--) {
  const frame = frames.get(profile.samples[index] ?? NaN)
  const us = profile.timeDeltas[index] ?? 0
  leftUs -= us
  if (frame === undefined || frame.functionName === '(idle)') continue
  const place = frame.url === '' ? '' : ` ${frame.url.split('/').slice(-3).join('/')}:${frame.lineNumber + 1}`
  const name = `${frame.functionName === '' ? '(anonymous)' : frame.functionName}${place}`
  selfUs.set(name, (selfUs.get(name) ?? 0) + us)
}
const units = sample.unitsPerSecond * durationMs / 1000
console.log(`${lane.name}: ${sample.cpuUsPerUnit.toFixed(1)} µs per ${lane.unit} while profiled; ${file}\n`)
for (const [name, us] of [...selfUs].toSorted((a, b) => b[1] - a[1]).slice(0, 40)) {
  console.log(`${(us / units).toFixed(2).padStart(8)} µs  ${name}`)
}
