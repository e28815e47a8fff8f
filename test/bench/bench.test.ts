/** The benchmarks: each checks its own result, and each still runs. */

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { scenarios as callers } from '../../bench/dialects.bench.ts'
import { scenarios as endpoints } from '../../bench/endpoints.bench.ts'
import { scenarios as guards } from '../../bench/guards.bench.ts'
import { scenarios as pipelines } from '../../bench/pipelines.bench.ts'
import { scenarios as providers } from '../../bench/providers.bench.ts'
import { scenarios as records } from '../../bench/records.bench.ts'
import { scenarios as spans } from '../../bench/spans.bench.ts'
import { scenarios as stages } from '../../bench/stages.bench.ts'
import { scenarios as streams } from '../../bench/streams.bench.ts'
import { contenders } from '../../bench/support/contenders.ts'
import { lanes, plainCall } from '../../bench/support/lanes.ts'
import { measureLane, startLoad, startMock } from '../../bench/support/measure-lane.ts'
import { median, medianError } from '../../bench/support/statistics.ts'
import { forTensorZero } from '../../bench/support/tensorzero.ts'
import { shortRun } from '../support/rounds.ts'

const all = [
  ...guards,
  ...pipelines,
  ...providers,
  ...callers,
  ...endpoints,
  ...records,
  ...spans,
  ...stages,
  ...streams
]

t.test('every micro benchmark produces its expected result', async t => {
  for (const { name, run, check } of all) {
    const result = await run()
    t.doesNotThrow(() => check(result), name)
  }
})

t.test('a scenario has a unique name', async t => {
  const names = [...all, ...lanes].map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
})

t.test('a median is one of the measured values', async t => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(medianError([7, 7, 7, 7]), 0)
  t.ok(medianError([1, 2, 3, 4]) > medianError([1, 2, 3, 4, 1, 2, 3, 4]), 'more measurements, smaller error')
})

t.test(
  'TensorZero clients send the same request in its format, and expect its frames',
  async t => {
    const { path, body, expected } = forTensorZero(plainCall)
    t.equal(path, '/openai/v1/chat/completions')
    t.strictSame(JSON.parse(body), {
      ...JSON.parse(plainCall.body),
      model: 'tensorzero::model_name::mock/json'
    })
    t.strictSame(expected, plainCall.expected)
    t.equal(forTensorZero({ ...plainCall, expected: { frames: 204 } }).expected.frames, 203)
  }
)

t.test('files written by a benchmark are removed when it ends', async t => {
  const file = new URL('../../bench/support/scratch-folder.js', import.meta.url)
  const program = `import { scratchFolder } from '${file.href}'; import { existsSync } from 'node:fs'
    const folder = scratchFolder('test'); console.log(existsSync(folder) ? folder : '')`
  const folder = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8'
  }).trim()
  t.match(folder, /headgate-bench-test-/)
  t.notOk(existsSync(folder))
})

t.test(
  'the files and functions that one call runs are counted',
  { skip: shortRun || (process.platform !== 'linux' && 'processes are pinned to cores') },
  async t => {
    const printed = execFileSync(process.execPath, ['build/bench/count.js', '--warm', '20', '--list'], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' }
    })
    const counts = [...printed.matchAll(/^(JSON|stream): (\d+) files, (\d+) functions\b/gm)].map(
      ([, name, files, functions]) => ({ name, files: Number(files), functions: Number(functions) })
    )
    t.same(
      counts.map(({ name }) => name),
      ['JSON', 'stream']
    )
    t.ok(
      counts.every(({ files, functions }) => files > 50 && functions > files),
      printed
    )
    const [page, files] = [
      readFileSync('lib/CHAT-CALL.md', 'utf8'),
      printed.matchAll(/^ {2}(?:lib\/)?(\S+)\.js: /gm)
    ]
    t.same(
      [...files].flatMap(([, file = '']) => (page.includes(`\`${file}\``) ? [] : [file])),
      [],
      'lib/CHAT-CALL.md names each'
    )
    t.match(printed, /^ {2}lib\/pipeline\/fused-stages\.js: .*FusedStages/m, 'by name')
    t.notMatch(
      printed.slice(0, printed.indexOf('stream:')),
      /wire\/sse-/,
      'a JSON answer loads no code for stream frames'
    )
  }
)

t.test(
  'a lane runs against the gateway and against a plain pipe, and all answers are correct',
  {
    skip: shortRun || (process.platform !== 'linux' && 'costs are read from /proc')
  },
  async t => {
    const { upstreamPort, mock } = await startMock()
    t.teardown(mock.stop)
    const load = await startLoad()
    t.teardown(load.stop)
    const times = { warmUpMs: 0, durationMs: 1 }
    for (const contender of contenders.filter(({ name }) => name === 'Headgate' || name === 'bare pipe')) {
      const running = await contender.start?.(upstreamPort)
      if (running === undefined) throw new Error(`${contender.name} is a process`)
      t.teardown(running.stop)
      for (const lane of lanes) {
        const { quick, unit, name, expected, only = [contender.name] } = lane
        const isShort =
          (quick && !name.includes('paced')) ||
          unit === 'MB' ||
          name.startsWith('JSON over TLS') ||
          expected.dialect !== undefined
        if (!isShort || !only.includes(contender.name)) continue
        const sample = await measureLane(load, lane, contender, running, upstreamPort, times)
        t.ok(sample.requests >= lane.callers, `${contender.name}: ${lane.name}`)
        t.equal(sample.frames, sample.requests * lane.expected.frames)
      }
    }
  }
)
