/** tinyproxy, a real proxy for `CONNECT`, where it is installed. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { eventually } from './until.ts'
import type { Test } from 'tap'

const program = ['/usr/bin/tinyproxy', '/usr/sbin/tinyproxy'].find(
  file => spawnSync(file, ['-v']).status === 0
)

/** For `skip`: the reason where it is not installed. */
export const noTinyproxy = program === undefined && 'tinyproxy is not installed'

export interface Tinyproxy {
  /** `127.0.0.1:port` */
  readonly host: string
  /** Targets of the tunnels so far: `host:port`. */
  readonly targets: () => string[]
}

/** Starts one that wants the credentials `me:secret`. */
export async function startTinyproxy (t: Test): Promise<Tinyproxy> {
  const port = await freePort()
  const directory = t.testdir({ log: '' })
  const [file, log] = [join(directory, 'tinyproxy.conf'), join(directory, 'log')]
  writeFileSync(
    file,
    `Port ${port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nBasicAuth me secret\nLogFile "${log}"\nLogLevel Connect\n`
  )
  const proxy = spawn(program ?? '', ['-d', '-c', file], { stdio: 'ignore' })
  t.teardown(() => {
    proxy.kill()
  })
  await eventually(async () => await isListening(port), listening => listening, 'tinyproxy to listen')
  return {
    host: `127.0.0.1:${port}`,
    targets: () =>
      [...readFileSync(log, 'utf8').matchAll(/CONNECT (\S+) HTTP/g)].map(([, target = '']) => target)
  }
}

async function isListening (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
