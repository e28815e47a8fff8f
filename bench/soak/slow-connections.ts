import { connect, type Socket } from 'node:net'
import { eventually, finding, type Scenario } from './scenario.ts'
import { key, startWorld } from './world.ts'

const head = (more: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}`
const secret = `authorization: Bearer ${key}\r\n`

/** The bytes that each kind of connection sends before it goes silent. */
const kinds: Readonly<Record<string, string>> = {
  'no bytes sent': '',
  'partial headers': head('x-a: '),
  'partial body without a key': `${head('content-length: 1000\r\n')}\r\n{"model":`,
  'partial body with a key': `${head(`${secret}content-length: 1000\r\n`)}\r\n{"model":`,
  'partial chunked body': `${head(`${secret}transfer-encoding: chunked\r\n`)}\r\n5\r\n{"mod`
}

/** Connections that stop in the middle of a request are closed in time and delay no one else. */
export const slowConnections: Scenario = {
  name: 'slow connections',
  run: async short => {
    const count = short ? 200 : 2000
    const world = await startWorld({
      configuration: {
        providers: { sandbox: { kind: 'sandbox' } },
        limits: { headers_ms: 2000, body_ms: 2000 }
      }
    })
    const findings = []
    try {
      const descriptors = world.descriptors()
      for (const [kind, sent] of Object.entries(kinds)) {
        const sockets = new Set<Socket>()
        for (let number = 0; number < count; number++) {
          const socket = connect(world.port, '127.0.0.1', () => socket.write(sent))
          sockets.add(socket)
          socket.on('error', () => sockets.delete(socket)).on('close', () => sockets.delete(socket)).resume()
        }
        const beforeMs = performance.now()
        const { status } = await world.post('/v1/chat/completions', { model: 'sandbox/echo', messages: 'x' })
        const tookMs = performance.now() - beforeMs
        // A connection that has sent nothing may stay as long as one kept alive between two requests.
        const closed = kind === 'no bytes sent' || await eventually(() => sockets.size === 0, 30_000)
        findings.push(finding(`${kind}: others are served, and it ends`, status === 200 && closed,
          `${count} connections; a call meanwhile ${tookMs.toFixed(0)} ms; ${world.rssMb()} MB`))
        for (const socket of sockets) socket.destroy()
      }
      const freed = await eventually(() => world.descriptors() <= descriptors + 10)
      findings.push(
        finding('no descriptor stays open', freed, `${world.descriptors() - descriptors} more than before`)
      )
      return findings
    } finally {
      await world.stop()
    }
  }
}
