import t from 'tap'
import { isDashboardServed, isDashboardUnsafe } from '../../lib/dashboard/is-served.ts'

t.test(
  'beyond loopback the dashboard requires TLS in front, or an explicit opt-out',
  async t => {
    const place = (
      host: string,
      { enabled = true, insecure = false, trustProxy = false, tls = false } = {}
    ) => ({
      server: { host, trustProxy, ...tls && { tls: { certificate: 'a', key: 'b' } } },
      dashboard: { enabled, insecure, editConfig: false }
    })
    for (const [served, unsafe, at] of [
      [true, false, place('127.0.0.1')],
      [true, false, place('localhost')],
      [true, false, place('::1')],
      [false, true, place('0.0.0.0')],
      [false, true, place('192.0.2.1')],
      [true, false, place('0.0.0.0', { trustProxy: true })],
      [true, false, place('::', { insecure: true })],
      [true, false, place('::', { tls: true })],
      [false, false, place('127.0.0.1', { enabled: false })],
      [false, false, place('0.0.0.0', { enabled: false })]
    ] as const) {
      t.same([isDashboardServed(at), isDashboardUnsafe(at)], [served, unsafe], JSON.stringify(at))
    }
  }
)
