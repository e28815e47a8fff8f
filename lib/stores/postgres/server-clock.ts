import type { ServerConnections } from './server-connections.ts'

/** Milliseconds between two comparisons. */
const compareEveryMs = 60_000

export interface ServerClock {
  readonly now: () => number
  readonly stop: () => void
}

/** Returns the server's clock: this machine's, corrected by the difference. */
export async function serverClock (server: Pick<ServerConnections, 'use'>): Promise<ServerClock> {
  let aheadMs = 0
  const compare = async (): Promise<void> => {
    const sentMs = Date.now()
    const serverMs = await server.use(async client => {
      const {
        rows: [row]
      } = await client.query<{ now: number }>(
        'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now'
      )
      return row?.now ?? sentMs
    })
    aheadMs = serverMs - Math.round((sentMs + Date.now()) / 2)
  }
  await compare()
  // Without a response the last difference is kept.
  const timer = setInterval(() => { compare().catch(() => undefined) }, compareEveryMs).unref()
  return { now: () => Date.now() + aheadMs, stop: () => clearInterval(timer) }
}
