/**
 * Each program of `bench/` still runs and prints what it measured, with the smallest possible load. They run
 * only with `HEADGATE_TEST_BENCH=all`, on Linux and one at a time: gateways are pinned to cores.
 */

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'

interface Run {
  readonly args: readonly string[]
  readonly prints: RegExp
}

const aLane = ['--lanes', 'JSON, 1 KB body, 32']

/** By file name; a string names the test that runs the program instead. */
const programs: Readonly<Record<string, Run | string>> = {
  ablate: {
    args: [...aLane, '--rounds', '1', '--seconds', '0.05'],
    prints: /\| everything on \| [\d.]+ \|/
  },
  'collector-outage': {
    args: ['--seconds', '3'],
    prints: /\| back \| [\d,]+ \|/
  },
  compare: {
    args: [...aLane, '--only', 'bare pipe,Headgate', '--rounds', '1', '--seconds', '0.05'],
    prints: /\| Headgate \| [\d.]+ \|/
  },
  count: 'test/bench/bench',
  kinds: { args: ['--calls', '4'], prints: /^prompt_injection: -?[\d.]+, 1\.0 requests a call/m },
  'live-tail': {
    args: [...aLane, '--rounds', '1', '--seconds', '0.2'],
    prints: /\| JSON, 1 KB body, 32 callers \(request\) \| [\d.]+ \|/
  },
  mirror: { args: ['--rate', '20', '--rounds', '1'], prints: /^share 1: .* [12]\.\d\d requests to the provider/m },
  profile: { args: ['--seconds', '1'], prints: /^ +[\d.]+ µs  \S/m },
  run: { args: ['--quick', '--only', 'sse read'], prints: /^\| sse read.* \| event \| [\d.]+ \|/m },
  scale: 'it starts PostgreSQL and Redis of its own, and has no part that takes seconds',
  soak: 'a step of continuous integration, with --short',
  tools: { args: ['--runs', '20'], prints: /20 slices of 1 runs/ },
  uploads: { args: ['--at-once', '1'], prints: /67 MB/ }
}

t.test('each program has a row in the table', async t => {
  const files = readdirSync('bench').filter(name => name.endsWith('.ts') && !name.endsWith('.bench.ts'))
  const names = files.map(name => name.slice(0, -'.ts'.length))
  t.same(names.toSorted(), Object.keys(programs).toSorted())
})

t.test(
  'each program prints its measurements',
  {
    skip: process.env['HEADGATE_TEST_BENCH'] === 'all' ? false : 'a step of its own in continuous integration'
  },
  async t => {
    for (const [name, run] of Object.entries(programs)) {
      if (typeof run === 'string') continue
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [`build/bench/${name}.js`, ...run.args],
        { env: { ...process.env, NODE_OPTIONS: '' }, timeout: 300_000 }
      )
      t.match(stdout, run.prints, name)
    }
  }
)
