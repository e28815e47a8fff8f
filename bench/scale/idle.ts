/** Measures an idle gateway and its start: the embedded default against PostgreSQL and Redis. */

import { setTimeout as sleep } from 'node:timers/promises'
import { headgate } from '../support/contenders.ts'
import { startMock } from '../support/measure-lane.ts'
import { cpuUs, rssBytes } from '../../lib/load/process-cost.ts'
import { table } from '../support/report.ts'
import { median } from '../support/statistics.ts'
import { sharedConfiguration, type ScaleOptions, type Servers } from './servers.ts'

const idleSeconds = 5

export async function idle (servers: Servers, { rounds }: ScaleOptions): Promise<string> {
  const { upstreamPort, mock } = await startMock()
  const rows: string[][] = []
  for (const contender of [
    headgate('embedded'),
    headgate('PostgreSQL and Redis', sharedConfiguration(servers))
  ]) {
    const [readyMs, rss, cpu]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < rounds; round++) {
      const running = await contender.start?.(upstreamPort)
      if (running === undefined) continue
      await sleep(2000)
      const before = cpuUs(running.pid)
      await sleep(idleSeconds * 1000)
      readyMs.push(running.readyMs)
      rss.push(rssBytes(running.pid) / 1024 / 1024)
      cpu.push((cpuUs(running.pid) - before) / idleSeconds / 10_000)
      await running.stop()
    }
    rows.push([
      contender.name,
      median(readyMs).toFixed(0),
      median(rss).toFixed(0),
      `${median(cpu).toFixed(1)} %`
    ])
  }
  await mock.stop()
  return table(
    'a gateway that is idle',
    ['', 'ms to the first answer', 'RSS, MB', 'CPU of one processor'],
    rows
  )
}
