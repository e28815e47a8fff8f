/**
 * Counts how much of the program one warm call runs: `npm run count [-- --list]`.
 *
 * Counts the files and named functions of ours that a complete chat answer and a stream run, for a key with
 * limits and a budget, in an unbundled gateway that has answered a few thousand calls. Functions that an idle
 * process runs meanwhile are subtracted, and so are those that not all of three calls run, such as timers.
 * `--list` prints them all. `--warm` is the number of calls before.
 */

import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { headgate, path } from './support/contenders.ts'
import { lanes, plainCall, type Lane } from './support/lanes.ts'
import { startMock } from './support/measure-lane.ts'
import { freePort } from './support/processes.ts'

const { values: flags } = parseArgs({
  options: { list: { type: 'boolean', default: false }, warm: { type: 'string', default: '3000' } }
})
const warmCalls = Math.min(Number(flags.warm), 100_000)
/** Long enough for work after an answer: rows to write, due timers. */
const settleMs = 1500
const countedCalls = 3

const streamed = lanes.find(({ name }) => name.startsWith('200 events, 8 per write'))
if (streamed === undefined) throw new Error('there is no lane of streams with 8 events per write')

const coveragePort = await freePort()
const { upstreamPort, mock } = await startMock()
const contender = headgate('Headgate', {
  entry: '../../lib/main.js',
  env: { COVERAGE_PORT: String(coveragePort) }
})
const gateway = await contender.start?.(upstreamPort, {
  nodeOptions: ['--import', fileURLToPath(new URL('support/coverage.js', import.meta.url))]
})
if (gateway === undefined) throw new Error('the gateway did not start')
const agent = new Agent({ keepAlive: true })

try {
  for (let call = 0; call < warmCalls; call++) await answer(call % 10 === 9 ? streamed : plainCall)
  for (const [name, lane] of [['JSON', plainCall], ['stream', streamed]] as const) {
    const functions = await functionsOf(lane)
    const initialisers = functions.filter(text => text.includes(' <instance_members_initializer>')).length
    const files = new Map<string, string[]>()
    for (const text of functions) {
      const [file = '', named = ''] = text.split(' ', 2)
      files.set(file, [...files.get(file) ?? [], named.replace(/:\d+$/, '')])
    }
    console.log(
      `${name}: ${files.size} files, ${functions.length} functions, of which ${initialisers} are V8's initialisers of class fields`
    )
    if (!flags.list) continue
    for (const [file, names] of [...files].toSorted(([one], [other]) => one.localeCompare(other))) {
      console.log(`  ${file}: ${names.join(', ')}`)
    }
  }
} finally {
  agent.destroy()
  await Promise.all([gateway.stop(), mock.stop()])
}

/** Returns the functions that each of some calls runs, with their files. */
async function functionsOf (lane: Lane): Promise<string[]> {
  const runs: string[][] = []
  for (let call = 0; call < countedCalls; call++) runs.push(await functionsOfOne(lane))
  return (runs[0] ?? []).filter(name => runs.every(run => run.includes(name)))
}

async function functionsOfOne (lane: Lane): Promise<string[]> {
  await sleep(settleMs)
  await taken()
  await sleep(2 * settleMs)
  const idle = new Set(await taken())
  await answer(lane)
  await sleep(settleMs / 2)
  return [...new Set(await taken())].filter(name => !idle.has(name))
}

/** Returns the functions that have run since the last time. */
async function taken (): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${coveragePort}`)
  if (!response.ok) throw new Error(await response.text())
  return await response.json() as string[] // as `support/coverage` sends them
}

function answer ({ body }: Pick<Lane, 'body'>): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { ...contender.headers(upstreamPort), 'content-type': 'application/json' }
    request({ agent, host: '127.0.0.1', port: gateway?.port, path, method: 'POST', headers }, response => {
      response.resume().on('error', reject).on('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`the gateway answered ${response.statusCode}`))
      })
    }).on('error', reject).end(body)
  })
}
