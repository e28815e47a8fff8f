import t from 'tap'
import { clientAddress } from '../../lib/net/client-address.ts'

t.test('the client address is that of the connection, or the one a trusted proxy reports', t => {
  for (const [connected, chain, trusts, expected] of [
    ['192.0.2.1', undefined, false, '192.0.2.1'],
    ['::ffff:192.0.2.1', undefined, false, '192.0.2.1'],
    ['2001:db8::1', undefined, false, '2001:db8::1'],
    [undefined, undefined, false, ''],
    ['192.0.2.1', '203.0.113.9', false, '192.0.2.1'],
    ['192.0.2.1', '203.0.113.9, 198.51.100.7', true, '198.51.100.7'],
    ['192.0.2.1', '203.0.113.9, ::ffff:198.51.100.7', true, '198.51.100.7'],
    ['192.0.2.1', 'evil', true, '192.0.2.1'],
    ['192.0.2.1', undefined, true, '192.0.2.1']
  ] as const) t.equal(clientAddress(connected, chain, trusts), expected, `${connected} ${chain}`)
  t.end()
})
