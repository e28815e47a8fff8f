/**
 * Compares two ways to count a limit on several nodes: a round trip to Redis for each reservation, as in the
 * gateway, and slices of the limit that a node takes at once and uses locally.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { cpuUs } from '../../lib/load/process-cost.ts'
import { cores, start, type Started } from '../support/processes.ts'
import { table } from '../support/report.ts'
import { median } from '../support/statistics.ts'
import type { LimitJob, LimitResult } from './limit-node.ts'
import type { Servers } from './servers.ts'

const seconds = 4
const callsPerSecond = 500
/** Requests of the limit that is used up, and of one slice of it: a hundredth. */
const limit = 20_000
const sliceOf = { 'round trip': 1, slices: limit / 100 } as const

export async function limits ({ redisUrl, redisPid }: Servers): Promise<string> {
  const rows: string[][] = []
  const redis = new Redis(redisUrl)
  for (const nodes of [1, 2, 8]) {
    for (const way of ['round trip', 'slices'] as const) {
      const started = await Promise.all(Array.from({ length: nodes }, async () => await startNode(redisUrl)))
      const run = async (job: Omit<LimitJob, 'way' | 'slice'>): Promise<LimitResult[]> =>
        await Promise.all(
          started.map(
            async (node, index) =>
              await perform(node, { ...job, way, slice: sliceOf[way], skew: index === 0 ? 1 : job.skew })
          )
        )
      await run({ keyId: `warm-${way}-${nodes}`, limit: 1e9, callsPerSecond, seconds: 1, skew: 1 })
      const [redisBefore, scriptsBefore] = [cpuUs(redisPid), await scriptsRun(redis)]
      const paced = await run({
        keyId: `paced-${way}-${nodes}`,
        limit: 1e9,
        callsPerSecond,
        seconds,
        skew: 1
      })
      const perCall = (count: number): number => count / sum(paced, ({ admitted }) => admitted)
      const [redisUs, commands] = [
        perCall(cpuUs(redisPid) - redisBefore),
        perCall((await scriptsRun(redis)) - scriptsBefore)
      ]
      // One node has nearly all callers until the limit is used up; the others have a few.
      const used = await run({
        keyId: `used-${way}-${nodes}`,
        limit,
        callsPerSecond: 40_000,
        seconds: 2,
        skew: 0.001
      })
      await Promise.all(started.map(async ({ stop }) => await stop()))
      rows.push([
        String(nodes),
        way,
        median(paced.map(({ cpuUsPerCall }) => cpuUsPerCall)).toFixed(1),
        redisUs.toFixed(1),
        `${median(paced.map(({ p50Ms }) => p50Ms)).toFixed(2)} / ${median(paced.map(({ p99Ms }) => p99Ms)).toFixed(2)}`,
        commands.toFixed(3),
        `${((100 * sum(used, ({ unused }) => unused)) / limit).toFixed(1)} %`
      ])
    }
  }
  redis.disconnect()
  return table(
    `reserving and settling, ${callsPerSecond} calls a second on each node`,
    [
      'nodes',
      'way',
      'CPU µs of a node per call',
      'of Redis',
      'reserve, ms p50 / p99',
      'commands per call',
      'of a limit that is used up on one node, unused on others'
    ],
    rows
  )
}

/** Returns how many scripts a Redis has run. */
async function scriptsRun (redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats')
  return [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce(
    (all, [, calls]) => all + Number(calls),
    0
  )
}

async function startNode (redisUrl: string): Promise<Started> {
  const file = fileURLToPath(new URL('limit-node.js', import.meta.url))
  return await start(
    {
      file: process.execPath,
      args: [file, redisUrl],
      cores: [...new Set([...cores.gateway, ...cores.mock])],
      messages: true
    },
    async () => {
      await sleep(20)
      return true
    }
  )
}

async function perform ({ process: child }: Started, job: LimitJob): Promise<LimitResult> {
  return await new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('a node exited'))
    child.once('exit', onExit)
    child.once('message', result => {
      child.off('exit', onExit)
      resolve(result as LimitResult) // what it sends
    })
    child.send(job)
  })
}

function sum<T> (all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0)
}
