import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { maxStallMs, watchLiveness } from './liveness.ts'
import { finding, type Finding, type Scenario } from './scenario.ts'
import { key, startWorld, type World } from './world.ts'

const empty = `{"model":"sandbox/echo","messages":"x","zz":[${'{},'.repeat(8_000_000)}{}]}`
const keys = (count: number): string =>
  `{"model":"sandbox/echo","messages":"x","zz":{${Array.from({ length: count }, (_, number) => `"k${number}":1`).join()}}}`
const long = `{"model":"sandbox/echo","messages":"${'a'.repeat(48_000_000)}"}`

/**
 * The maximum that a body may hold (`limits.json_values`), in the shapes that cost a parser most per value.
 */
const list = (count: number, item: (number: number) => string): string =>
  `{"model":"sandbox/echo","messages":"x","zz":[${Array.from({ length: count }, (_, number) => item(number)).join()}]}`
const shapes: Readonly<Record<string, string>> = {
  'empty objects': list(55_000, () => '{}'),
  'distinct keys': keys(49_000),
  'objects of 20 distinct keys': list(
    2400,
    number => `{${Array.from({ length: 20 }, (_, index) => `"k${number}_${index}":1`).join()}}`
  ),
  'short texts': list(61_000, number => `"s${number}"`),
  'numbers': list(490_000, number => `0.${number}7`)
}

const attacks: Readonly<Record<string, (world: World) => Promise<string>>> = {
  ...Object.fromEntries(
    Object.entries(shapes).map(([name, body]) => [
      `2 × as many as a body may have: ${name}`,
      async (world: World) => await inParallel(world, 2, Buffer.from(body))
    ])
  ),
  '4 × 24 MB of empty objects': async world => await inParallel(world, 4, Buffer.from(empty)),
  '8 × the same, gzipped to 24 KB': async world =>
    await inParallel(world, 8, gzipSync(empty), { 'content-encoding': 'gzip' }),
  '4 × 2,000,000 distinct keys': async world => await inParallel(world, 4, Buffer.from(keys(2_000_000))),
  '16 × 48 MB of one text, gzipped': async world =>
    await inParallel(world, 16, gzipSync(long), { 'content-encoding': 'gzip' }),
  '10 connections × 20,000 pipelined requests without a key': async world => {
    const requests = 'GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(20_000)
    const sockets = Array.from({ length: 10 }, () =>
      connect(world.port, '127.0.0.1').on('error', () => undefined)
    )
    for (const socket of sockets) socket.pause().write(requests)
    await new Promise(resolve => { setTimeout(resolve, 2000) })
    const { status } = await world.post('/v1/chat/completions', { model: 'sandbox/echo', messages: 'x' })
    for (const socket of sockets) socket.destroy()
    return `a call meanwhile: ${status}`
  }
}

async function inParallel (
  world: World,
  count: number,
  body: Buffer,
  headers: Record<string, string> = {}
): Promise<string> {
  const statuses = await Promise.all(
    Array.from({ length: count }, async () => {
      try {
        const answer = await fetch(`${world.url}/v1/chat/completions`, {
          method: 'POST',
          body: new Uint8Array(body),
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers }
        })
        await answer.text()
        return String(answer.status)
      } catch {
        return 'closed' // An answer that came before the whole body was sent.
      }
    })
  )
  return statuses.toSorted().join(' ')
}

/** Bodies that are small on the wire and large in memory, for a process with a small heap. */
export const smallHeap: Scenario = {
  name: 'hostile bodies, heap of 512 MB',
  run: async () => {
    const world = await startWorld({
      configuration: { providers: { sandbox: { kind: 'sandbox', options: { words_per_second: 0 } } } },
      nodeArgs: ['--max-old-space-size=512']
    })
    const findings: Finding[] = []
    try {
      for (const [name, attack] of Object.entries(attacks)) {
        const liveness = await watchLiveness(world.url)
        const seen = await attack(world).catch((error: unknown) => String(error))
        const slowestMs = await liveness.stop()
        const alive =
          world.process.process.exitCode === null &&
          (
            await world
              .post('/v1/chat/completions', { model: 'sandbox/echo', messages: 'x' })
              .catch(() => undefined)
          )?.status === 200
        findings.push(
          finding(
            name,
            alive && slowestMs < maxStallMs(),
            `${seen}; /livez meanwhile at most ${slowestMs.toFixed(0)} ms; ${alive ? `${world.rssMb()} MB` : 'the process is gone'}`
          )
        )
        if (!alive) break
      }
      return findings
    } finally {
      await world.stop()
    }
  }
}
