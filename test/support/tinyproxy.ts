/** tinyproxy, a real proxy for `CONNECT`, if it is installed. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, untilListening } from './free-port.ts'
import type { Test } from 'tap'

const program = ['/usr/bin/tinyproxy', '/usr/sbin/tinyproxy'].find(
  file => spawnSync(file, ['-v']).status === 0
)

/** For `skip`: the reason if it is not installed. */
export const noTinyproxy = program === undefined && 'tinyproxy is not installed'

export interface Tinyproxy {
  /** `127.0.0.1:port` */
  readonly host: string
  /** Targets of the tunnels so far: `host:port`. */
  readonly targets: () => string[]
}

/** Starts one that requires the credentials `me:secret`. */
export async function startTinyproxy (t: Test): Promise<Tinyproxy> {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'headgate-tinyproxy-')) // a test has one `testdir`
  const [file, log] = [join(directory, 'tinyproxy.conf'), join(directory, 'log')]
  const lines = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Timeout 60',
    'MaxClients 20',
    'BasicAuth me secret',
    `LogFile "${log}"`,
    'LogLevel Connect'
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const proxy = spawn(program ?? '', ['-d', '-c', file], { stdio: 'ignore' })
  const exit = once(proxy, 'exit')
  t.teardown(async () => {
    proxy.kill()
    await exit
    rmSync(directory, { recursive: true })
  })
  await untilListening(port)
  return {
    host: `127.0.0.1:${port}`,
    targets: () =>
      [...readFileSync(log, 'utf8').matchAll(/CONNECT (\S+) HTTP/g)].map(([, target = '']) => target)
  }
}
