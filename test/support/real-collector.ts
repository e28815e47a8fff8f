/**
 * A collector of OpenTelemetry as a process of its own, which `.ci/collector.sh` builds:
 *
 * ```sh
 * HEADGATE_TEST_COLLECTOR=$(.ci/collector.sh) npx tap --disable-coverage build/test/gateway/collector.test.js
 * ```
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { signalsIn, type Signals } from './collector.ts'
import { freePort } from './free-port.ts'
import { directoryOf } from './headgate.ts'
import { until } from './until.ts'
import type { Test } from 'tap'

const program = process.env['HEADGATE_TEST_COLLECTOR']

/** The reason why tests with a collector are skipped; false if they run. */
export const noCollector =
  program === undefined && 'no collector: HEADGATE_TEST_COLLECTOR is not the path of one'

export interface RealCollector {
  readonly url: string
  /** Reads what the collector has written so far. */
  readonly seen: () => Signals
  /** Kills it. Unwritten data is lost. */
  readonly stop: () => Promise<void>
  /** Starts it again, at the same address. */
  readonly start: () => Promise<void>
}

/** Starts a collector that accepts OTLP over HTTP and writes everything to a file. */
export async function realCollector (t: Test): Promise<RealCollector> {
  const directory = directoryOf(t)
  const [file, config, port] = [
    join(directory, 'seen.jsonl'),
    join(directory, 'collector.yaml'),
    await freePort()
  ]
  const pipeline = { receivers: ['otlp'], exporters: ['file'] }
  writeFileSync(config, stringify({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { file: { path: file, flush_interval: '20ms', append: true } },
    service: { pipelines: { traces: pipeline, metrics: pipeline, logs: pipeline } }
  }))
  const url = `http://127.0.0.1:${port}`
  let stop = async (): Promise<void> => undefined
  t.teardown(async () => await stop())
  const start = async (): Promise<void> => {
    const child = spawn(program ?? '', ['--config', `file:${config}`], { stdio: 'ignore' })
    const exit = once(child, 'exit')
    stop = async () => {
      child.kill('SIGKILL')
      await exit
    }
    await until(
      async () =>
        await fetch(`${url}/v1/traces`).then(
          () => true,
          () => false
        ),
      'the collector',
      30_000
    )
  }
  await start()
  return {
    url,
    start,
    stop: async () => await stop(),
    seen: () => {
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
      // the last one may be half written
      return signalsIn(lines.slice(0, -1).map(line => JSON.parse(line) as object))
    }
  }
}
